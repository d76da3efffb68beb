"""Drawings of circuits: a prediction's flow, an attention score's writers, a graph of heads.

`prediction_flow`: words on the left, parts of a model in the middle, the answer on the right,
joined by what each adds. `edge_graph`: nodes by layer from the embedding at the bottom to the
logits on top. `writer_pairs`: writers of the query × writers of the key, with each side's bars.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from numpy.typing import NDArray

from headscope.figures import colour, style
from headscope.figures.colour import NEGATIVE, PAPER, POSITIVE, QUIET, RULE, diverging, of_shade
from headscope.figures.fonts import drawable
from headscope.figures.frame import finish

ROW = 0.17  # inches
WIDEST = 4.0  # points
LONGEST = 40  # words that are all listed


def prediction_flow(
    words: Sequence[str],
    parts: Sequence[tuple[str, str, float]],  # name, label, value
    edges: Sequence[tuple[int, str, float]],  # word, name of a part, value
    title: str,
    *,
    answer: str = "",
    caption: str = "",
    width: float = 5.2,
) -> Figure:
    """Blue pushes the answer up, orange down; widths are shares of the strongest of their side."""
    used = sorted({word for word, _, _ in edges})
    # of a long text only the words that contribute
    listed = used if len(words) > LONGEST else list(range(len(words)))
    rows = max(len(listed), len(parts), 2)
    with style.drawing():
        figure = style.new_figure(width, ROW * rows + 0.1)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, 10)
        axes.set_ylim(-0.6, rows - 0.4)
        style.bare(axes)
        word_at = {word: _row(at, len(listed), rows) for at, word in enumerate(listed)}
        part_at = {name: _row(at, len(parts), rows) for at, (name, _, _) in enumerate(parts)}
        strongest = max((abs(value) for _, _, value in edges), default=1.0) or 1.0
        for word, name, value in sorted(edges, key=lambda edge: abs(edge[2])):
            _join(axes, (2.35, word_at[word]), (5.3, part_at[name]), value, strongest)
        top = max((abs(value) for _, _, value in parts), default=1.0) or 1.0
        middle = (rows - 1) / 2
        for name, _, value in parts:
            _join(axes, (6.9, part_at[name]), (8.6, middle), value, top)
        for word in listed:
            ink = colour.of_shade(colour.INK if word in used else colour.QUIET)
            _write(axes, 2.25, word_at[word], words[word], "right", ink)
        for name, label, value in parts:
            _write(axes, 5.4, part_at[name], label, "left", colour.of_shade(colour.INK))
            _write(axes, 6.8, part_at[name], f"{value:+.2f}", "right", _colour(value), style.TINY)
        if answer:
            _write(axes, 8.7, middle, answer, "left", colour.of_shade(colour.INK), style.BODY + 1)
        finish(figure, title, caption)
    return figure


def _row(at: int, count: int, rows: int) -> float:
    """Heights from top to bottom; the shorter column spreads over the longer one's height."""
    step = 1.0 if count >= rows or count < 2 else (rows - 1) / max(count - 1, 1)
    return rows - 1 - at * min(step, 2.0) - max(0.0, (rows - 1 - (count - 1) * min(step, 2.0)) / 2)


def _join(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], value: float, most: float
) -> None:
    share = abs(value) / most
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-",
            connectionstyle="arc3,rad=0",
            linewidth=max(0.3, WIDEST * share),
            color=_colour(value),
            alpha=0.25 + 0.6 * share,
            shrinkA=0,
            shrinkB=0,
        )
    )


def _write(
    axes: Axes, x: float, y: float, text: str, side: str, ink: str, size: float = style.SMALL
) -> None:
    axes.text(x, y, drawable(text), ha=side, va="center", color=ink, fontsize=size)


def _colour(value: float) -> str:
    return colour.POSITIVE if value >= 0 else colour.NEGATIVE


WIDE, TALL = 0.62, 0.5  # inches a node and a layer take
NAMED = set("qkv")  # inputs of a head; an MLP and the logits have one


def edge_graph(
    links: Sequence[tuple[str, str, str, float]],  # source, target, through, score
    places: Mapping[str, tuple[float, float]],  # x, y of every node
    *,
    title: str,
    caption: str = "",
) -> Figure:
    """Width is the size of a score, colour its sign; q, k and v label the arrowheads."""
    across = max((x for x, _ in places.values()), default=0) + 1
    rows = sorted({y for _, y in places.values()})
    level = {y: number for number, y in enumerate(rows)}
    most = max((abs(score) for *_, score in links), default=1.0) or 1.0
    with style.drawing():
        figure = style.new_figure(max(3.2, WIDE * across), max(1.6, TALL * len(rows)))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(-0.6, across - 0.4), ylim=(-0.6, len(rows) - 0.4))
        axes.axis("off")
        for source, target, through, score in links:
            (x1, y1), (x2, y2) = places[source], places[target]
            axes.add_patch(
                FancyArrowPatch(
                    (x1, level[y1]), (x2, level[y2]), arrowstyle="-|>", mutation_scale=7,
                    connectionstyle="arc3,rad=0.06", shrinkA=9, shrinkB=9,
                    lw=0.4 + 2.0 * abs(score) / most, alpha=0.85, zorder=1,
                    color=of_shade(POSITIVE if score > 0 else NEGATIVE),
                )
            )  # fmt: skip
            if NAMED & set(through.split()):
                axes.annotate(
                    through, (x2 + 0.3 * (x1 - x2), level[y2] + 0.3 * (level[y1] - level[y2])),
                    fontsize=style.SMALL - 1, color=of_shade(QUIET), ha="center", va="center",
                )  # fmt: skip
        for name, (x, y) in places.items():
            axes.annotate(
                drawable(name), (x, level[y]), ha="center", va="center", fontsize=style.SMALL,
                bbox={"boxstyle": "round", "fc": of_shade(PAPER), "ec": of_shade(RULE), "lw": 0.8},
            )  # fmt: skip
        finish(figure, title, caption)
    return figure


CELL, BARS, GAP = 0.24, 0.9, 0.1  # inches


def writer_pairs(
    parts: NDArray[np.floating],  # query's writers × key's writers
    query: Sequence[str],
    key: Sequence[str],
    sums: tuple[NDArray[np.floating], NDArray[np.floating]],  # of each side, others included
    *,
    title: str,
    caption: str = "",
) -> Figure:
    """`query` and `key` name the rows and columns; `sums` are the bars beside and over them."""
    rows, columns = parts.shape
    width, height = CELL * columns + GAP + BARS, CELL * rows + GAP + BARS
    with style.drawing():
        figure = style.new_figure(width, height)
        across, down = CELL * columns / width, CELL * rows / height
        cells = figure.add_axes((0, 0, across, down))
        reach = float(np.abs(parts).max()) or 1.0
        cells.imshow(parts, cmap=diverging(), norm=Normalize(-reach, reach), aspect="auto")
        cells.set_xticks(range(columns), [drawable(one) for one in key], rotation=90)
        cells.set_yticks(range(rows), [drawable(one) for one in query])
        cells.tick_params(length=0, labelsize=style.SMALL)
        cells.set_xlabel("written into the key by")
        cells.set_ylabel("written into the query by")
        for spine in cells.spines.values():
            spine.set(visible=True, color=of_shade(RULE), linewidth=0.6)
        above = figure.add_axes((0, down + GAP / height, across, BARS / height), sharex=cells)
        beside = figure.add_axes((across + GAP / width, 0, BARS / width, down), sharey=cells)
        above.bar(range(columns), sums[1], color=_colours(sums[1]), width=0.7)
        above.axhline(0, color=of_shade(QUIET), linewidth=0.6)
        beside.barh(range(rows), sums[0], color=_colours(sums[0]), height=0.7)
        beside.axvline(0, color=of_shade(QUIET), linewidth=0.6)
        for axes in (above, beside):
            _plain(axes)
        above.tick_params("x", labelbottom=False)
        beside.tick_params("y", labelleft=False)
        finish(figure, title, caption, below=0.9)
    return figure


def _colours(values: NDArray[np.floating]) -> list[str]:
    return [POSITIVE if value >= 0 else NEGATIVE for value in values]


def _plain(axes: Axes) -> None:
    axes.tick_params(length=0, labelsize=style.TINY)
    for spine in axes.spines.values():
        spine.set_visible(False)
