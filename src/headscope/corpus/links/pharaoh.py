"""Word alignments as Pharaoh and Moses write them: `0-0 1-2` beside two texts in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from headscope.corpus.bad_data import Faults, unreadable, whole_number
from headscope.corpus.links.linked import Linked, Pair, word_spans
from headscope.corpus.open_text import open_lines
from headscope.errors import BadInput

LINK = re.compile(r"(\d+)([-p?])(\d+)")


def read_pharaoh(
    source: str | Path, target: str | Path, alignment: str | Path, faults: Faults
) -> Iterator[Linked]:
    """Sentence pairs in words, line by line, and their links source-target, counted from 0.

    `1p2` and `1?2` are possible links. The target's words are the queries, the source's the keys.
    Files of different lengths are refused: their lines do not belong together.
    """
    with (
        open_lines(Path(source)) as sources,
        open_lines(Path(target)) as targets,
        open_lines(Path(alignment)) as links,
    ):
        for number, three in enumerate(zip_longest(sources, targets, links), 1):
            if any(line is None for line in three):
                short = [
                    str(name)
                    for name, line in zip((source, target, alignment), three, strict=True)
                    if line is None
                ]
                raise BadInput(
                    f"{' and '.join(short)} ends before line {number}; the two texts and the "
                    "alignment need one line for every sentence pair."
                )
            of_source, of_target, of_links = (str(line) for line in three)
            where = f"{alignment}:{number}"
            found = _sentence(of_source, of_target, of_links, where, faults)
            if found is not None:
                yield found


def read_one_file(path: str | Path, faults: Faults) -> Iterator[Linked]:
    """The same in one file: `source ||| target ||| 0-0 1-2` on every line."""
    with open_lines(Path(path)) as lines:
        for number, line in enumerate(lines, 1):
            parts = line.rstrip("\n").split("|||")
            where = f"{Path(path).name}:{number}"
            if not line.strip():
                continue
            if len(parts) != 3:
                message = f"{len(parts)} parts, not source ||| target ||| alignment"
                faults.note("malformed line", where, message)
                continue
            found = _sentence(parts[0], parts[1], parts[2], where, faults)
            if found is not None:
                yield found


def _sentence(source: str, target: str, links: str, where: str, faults: Faults) -> Linked | None:
    if unreadable(source) or unreadable(target):
        faults.note("not UTF-8", where, "a text holds bytes that are not UTF-8")
        return None
    text, of_source = word_spans(source.split())
    other, of_target = word_spans(target.split())
    pairs: list[Pair] = []
    for given in links.split():
        match = LINK.fullmatch(given)
        if match is None:
            faults.note("malformed pair", where, f"{given!r} is not a link such as 0-0 or 1p2")
            continue
        at, to = whole_number(match[1]), whole_number(match[3])
        if at is None or to is None or at >= len(of_source) or to >= len(of_target):
            message = f"{given} in a pair of {len(of_source)} and {len(of_target)} words"
            faults.note("span outside", where, message)
            continue
        pairs.append(Pair(of_target[to], of_source[at], sure=match[2] == "-"))
    if not pairs:
        faults.note("no links", where, "the sentence pair has no link that can be used")
        return None
    return Linked(text, tuple(pairs), other, of_target, of_source, where=where)
