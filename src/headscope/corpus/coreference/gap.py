"""GAP: a pronoun and two names in a Wikipedia passage, and which of them it means."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator

from headscope.corpus.bad_data import Faults, unreadable, whole_number
from headscope.corpus.coreference.documents import CoreferenceDocument, Mention

WORDS = re.compile(r"\w+|[^\w\s]")
COLUMNS = ("ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset")


def documents(name: str, lines: Iterable[str], faults: Faults) -> Iterator[CoreferenceDocument]:
    """Yield one document a row, with three mentions: the pronoun, A and B."""
    rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    missing = [column for column in COLUMNS if column not in (rows.fieldnames or ())]
    if missing:
        faults.note("malformed line", f"{name}:1", f"the header has no column {missing[0]!r}")
        return
    for row in _sound(name, rows, faults):
        document = _document(f"{name}:{rows.line_num}", row, faults)
        if document is not None:
            yield document


def _sound(name: str, rows: csv.DictReader[str], faults: Faults) -> Iterator[dict[str, str | None]]:
    """The rows, up to the first that the csv reader cannot parse."""
    try:
        yield from rows
    except csv.Error as error:
        faults.note("malformed line", f"{name}:{rows.line_num}", f"this is no row ({error})")


def _document(where: str, row: dict[str, str | None], faults: Faults) -> CoreferenceDocument | None:
    text = row["Text"] or ""
    if unreadable(text):
        faults.note("not UTF-8", where, "the text holds bytes that are not UTF-8")
        return None
    spans = [match.span() for match in WORDS.finditer(text)]
    mentions: list[Mention] = []
    upos = [""] * len(spans)
    for column in ("Pronoun", "A", "B"):
        found, offset = row[column] or "", row[f"{column}-offset"] or ""
        start = whole_number(offset)
        if start is None or not found or text[start : start + len(found)] != found:
            message = f"{column} {found!r} does not stand at character {offset!r} of the text"
            faults.note("span outside", where, message)
            return None
        end = start + len(found)
        inside = [n for n, (first, last) in enumerate(spans) if first < end and last > start]
        if not inside:
            faults.note("span outside", where, f"{column} {found!r} covers no word")
            return None
        means = column == "Pronoun" or (row.get(f"{column}-coref") or "").upper() == "TRUE"
        upos[inside[-1]] = "PRON" if column == "Pronoun" else "PROPN"
        cluster = "same" if means else column
        mentions.append(Mention(inside[0], inside[-1] + 1, inside[-1], cluster))
    blank = ("",) * len(spans)
    return CoreferenceDocument(
        name=row["ID"] or where,
        where=where,
        words=tuple(text[first:last] for first, last in spans),
        sentences=(0,) * len(spans),
        mentions=tuple(sorted(mentions, key=lambda m: (m.start, -m.end))),
        upos=tuple(upos),
        xpos=blank,
        features=blank,
        both_sides=True,
    )
