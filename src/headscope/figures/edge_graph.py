"""A circuit as a graph: nodes by layer from the embedding at the bottom to the logits on top."""

from __future__ import annotations

import re
from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from headscope.figures import style
from headscope.figures.colour import NEGATIVE, PAPER, POSITIVE, QUIET, RULE, of_shade
from headscope.figures.fonts import drawable
from headscope.figures.frame import finish

WIDE, TALL = 0.62, 0.5  # inches a node and a layer take
NAMED = set("qkv")  # what of a head hears; an MLP and the logits have one input


def edge_graph(
    links: Sequence[tuple[str, str, str, float]],  # source, target, through, score
    layers: int,
    *,
    title: str,
    caption: str = "",
) -> Figure:
    """Width is the size of a score, colour its sign; q, k and v stand at the arrows' heads."""
    places = _places(links, layers)
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


def _places(
    links: Sequence[tuple[str, str, str, float]], layers: int
) -> dict[str, tuple[float, float]]:
    """x and y of every node: heads from the left, MLPs to their right and half a layer up."""
    names = dict.fromkeys(name for source, target, *_ in links for name in (source, target))
    rows: dict[float, list[str]] = {}
    for name in names:
        rows.setdefault(_height(name, layers), []).append(name)
    widest = max((len(row) for row in rows.values()), default=1)
    found: dict[str, tuple[float, float]] = {}
    for y, row in rows.items():
        ordered = sorted(row, key=lambda name: [int(one) for one in re.findall(r"\d+", name)])
        for at, name in enumerate(ordered):
            found[name] = ((widest - len(ordered)) / 2 + at, y)
    return found


def _height(name: str, layers: int) -> float:
    if name == "embedding":
        return -1.0
    if name == "logits":
        return float(layers)
    number = int(re.findall(r"\d+", name)[0])
    return number + 0.5 if name.startswith("MLP") else float(number)
