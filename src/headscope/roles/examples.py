"""Examples of the best head: links it finds, and links it misses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.corpus.links.linked import Linked, Span
from headscope.roles.kept import Kept, KeptDocument
from headscope.roles.plans import Plan
from headscope.roles.result import ExampleMap
from headscope.roles.timing import Timing

DRAWN = 4  # documents to draw
SHOWN = 12  # examples each, right and wrong
COLUMNS = ["layer", "head", "direction", "where", "text", "other", "sound", "query", "target",
           "chosen", "weight", "right"]  # fmt: skip


def examples(
    kept: Kept,
    documents: Iterable[Linked],
    best: tuple[int, int, int],
    directions: tuple[str, ...],
) -> pd.DataFrame:
    """Cases in which the best head is right, then wrong; the most confident first."""
    wanted = {one.plan.number: one for one in kept}
    rows: list[dict[str, object]] = []
    for number, document in enumerate(documents):
        if number in wanted:
            for row in _cases(wanted[number], document, best):
                rows.append(
                    {"layer": best[1], "head": best[2], "direction": directions[best[0]], **row}
                )
    rows.sort(key=lambda row: -float(str(row["weight"])))
    right = [row for row in rows if row["right"]][:SHOWN]
    wrong = [row for row in rows if not row["right"]][:SHOWN]
    return pd.DataFrame(right + wrong, columns=COLUMNS)


def example_maps(
    kept: Kept, documents: Iterable[Linked], best: tuple[int, int, int]
) -> list[ExampleMap]:
    """The first kept documents of the scoring half, as the best head maps them."""
    wanted = {one.plan.number: one for one in (kept.half(1) or kept.half(0))[:DRAWN]}
    made: list[ExampleMap] = []
    for number, document in enumerate(documents):
        if number in wanted:
            one, maps = wanted[number].plan, wanted[number].maps[best]
            spans = _spans(document)
            made.append(
                ExampleMap(
                    document.where,
                    [] if document.sound else [_cut(document.asking, spans[r]) for r in one.rows],
                    [_cut(document.text, unit) for unit in one.units],
                    maps.astype(np.float64),
                    one.right,
                    one.allowed,
                    **_heard(document, one, maps.astype(np.float64)),
                )
            )
    return made


def _heard(document: Linked, plan: Plan, maps: NDArray[np.float64]) -> dict[str, Any]:
    """A sound's words with their true times and those found."""
    if document.sound is None:
        return {}
    timing: Timing = plan.extra
    times = np.concatenate([timing.truth, timing.times(maps[None])[0]], axis=1)
    return {"sound": document.sound, "words": list(timing.words), "times": times}


def _spans(document: Linked) -> list[Span]:
    return list(document.queries or dict.fromkeys(pair.query for pair in document.pairs))


def _cases(
    kept: KeptDocument, document: Linked, best: tuple[int, int, int]
) -> Iterator[dict[str, object]]:
    one = kept.plan
    maps = np.where(one.allowed, kept.maps[best].astype(np.float64), -np.inf)
    spans = _spans(document)
    units = one.units
    if document.sound is not None:  # tokens and moments: its words are timed, not chosen
        return
    for row in np.flatnonzero(one.cases):
        chosen = int(maps[row].argmax())
        target = int(np.flatnonzero(one.right[row])[0])
        yield {
            "where": document.where,
            "text": document.text,
            "other": document.other or "",
            "sound": document.sound or "",
            "query": _cut(document.asking, spans[one.rows[row]]),
            "target": _cut(document.text, units[target]),
            "chosen": _cut(document.text, units[chosen]),
            "weight": float(maps[row, chosen]),
            "right": bool(one.right[row, chosen]),
        }


def _cut(text: str, span: tuple[float, float]) -> str:
    return text[int(span[0]) : int(span[1])] if text else f"{span[0]:.2f}–{span[1]:.2f} s"
