"""Words on the left, parts of a model in the middle, the answer on the right, joined by what each
adds."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from headscope.figures import colour, style
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
    # of a long text only the words that anything comes from
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
    """From top to bottom, the shorter column spread over the longer one's height."""
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
