"""Parts of a sum as bars: positive parts to the right, negative ones to the left."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from headscope.figures import colour, style
from headscope.figures.fonts import drawable
from headscope.figures.frame import finish

ROW = 0.17  # inches


def attribution_bars(
    parts: Sequence[tuple[str, str, float]],  # label, sort of part, value
    title: str,
    *,
    caption: str = "",
    rest: float | None = None,
    width: float = 3.4,
) -> Figure:
    """The parts in the given order; `rest` is the sum of all others."""
    rows = list(parts)
    if rest is not None:
        rows.append(("all others", "rest", rest))
    with style.drawing():
        figure = style.new_figure(width, ROW * len(rows) + 0.3)
        axes = figure.add_subplot()
        positions = list(range(len(rows), 0, -1))
        values = [value for _, _, value in rows]
        axes.barh(positions, values, height=0.68, color=[_colour(sort, v) for _, sort, v in rows])
        axes.axvline(0, color=colour.QUIET, linewidth=0.6)
        axes.set_yticks(positions, [drawable(label) for label, _, _ in rows])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(0.4, len(rows) + 0.6)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("logit")
        reach = max((abs(value) for value in values), default=1.0) or 1.0
        low, high = min(0.0, *values), max(0.0, *values)
        axes.set_xlim(low - 0.22 * reach, high + 0.22 * reach)
        for position, value in zip(positions, values, strict=True):
            axes.annotate(
                f"{value:+.2f}",
                (value, position),
                (3 if value >= 0 else -3, 0),
                textcoords="offset points",
                ha="left" if value >= 0 else "right",
                va="center",
                fontsize=style.TINY,
                color=colour.QUIET,
            )
        figure.subplots_adjust(left=0.2, right=1, top=1, bottom=0.22 / (ROW * len(rows) + 0.3))
        finish(figure, title, caption, below=0.3)
    return figure


def _colour(sort: str, value: float) -> str:
    if sort == "rest":
        return colour.RULE
    return colour.POSITIVE if value >= 0 else colour.NEGATIVE
