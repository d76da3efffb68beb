"""The figures of the bundled model's page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from headscope.figures import colour, style
from training.report.tables import NAMES

START = 25  # where step 0 stands on a logarithmic axis
PATTERNS = ("next_word", "previous_word", "same_word", "other_sentence", "bag_of_words")
RESTING = {"delimiter": "[CLS] and [SEP]", "punctuation": "periods and commas"}


def _over_training(axes: Axes, results: dict[str, Any], title: str) -> None:
    """Steps on a logarithmic axis, with the two moments at which the training changed."""
    first, second = results["checkpoints"]["stretches"]
    total = first["steps"] + second["steps"]
    axes.set_xscale("log")
    axes.set_ylim(0, 1.02)
    ticks = [START, 100, 400, 1600, first["steps"], total]
    axes.set_xticks(ticks, labels=["0", *(f"{tick:,}" for tick in ticks[1:])])
    axes.minorticks_off()
    axes.set_xlabel("step")
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.set_title(title, pad=20)
    marks = {
        "second\nstretch ": (first["steps"], "right"),
        " rate\n falls": (first["steps"] + second["decay_from"], "left"),
    }
    for text, (step, side) in marks.items():
        axes.axvline(step, color=colour.QUIET, linewidth=0.6, linestyle=(0, (3, 3)), zorder=1)
        axes.text(step, 1.01, text, fontsize=style.TINY, color=colour.QUIET, ha=side, va="bottom",
                  linespacing=1.1, transform=axes.get_xaxis_transform())  # fmt: skip


def emergence(results: dict[str, Any], path: Path) -> None:
    """Best score of any head at every checkpoint: patterns left, places of rest right."""
    rows = results["checkpoints"]["checkpoints"]
    steps = [max(row["step"], START) for row in rows]
    with style.drawing():
        figure = style.new_figure(7.2, 3.3)
        left, right = figure.subplots(1, 2, sharey=True)
        colours = colour.head_colours(8)
        for name, shade in zip(PATTERNS, colours, strict=False):
            scores = [row["best"][name]["score"] for row in rows]
            # two lines lie on each other: the upper one lets the lower one through
            line = (0, (2, 2)) if name == "previous_word" else "-"
            left.plot(steps, scores, marker="o", markersize=2, linewidth=1.3, color=shade,
                      linestyle=line, label=NAMES[name])  # fmt: skip
        for (name, label), shade in zip(RESTING.items(), colours[5:], strict=False):
            for part, line in (("score", "-"), ("mean_of_heads", ":")):
                values = [row["best"][name][part] for row in rows]
                said = "best head" if part == "score" else "mean of heads"
                right.plot(steps, values, line, marker="o", markersize=2, linewidth=1.3,
                           color=shade, label=f"{label}, {said}")  # fmt: skip
        _over_training(left, results, "Patterns: best head")
        _over_training(right, results, "Where attention rests")
        left.set_ylabel("score (pairs of 128 tokens)")
        left.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2, borderaxespad=0,
                    handlelength=1.6, columnspacing=1.2)  # fmt: skip
        right.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2, borderaxespad=0,
                     handlelength=1.6, columnspacing=1.2)  # fmt: skip
        figure.subplots_adjust(left=0.08, right=0.99, top=0.86, bottom=0.33, wspace=0.08)
        style.save(figure, path)


def resting_by_length(results: dict[str, Any], path: Path) -> None:
    """Mass on special tokens and on punctuation by the length of the input, three checkpoints."""
    with style.drawing():
        figure = style.new_figure(7.2, 2.8)
        panels = figure.subplots(1, 2, sharey=True)
        last = list(results["resting"].values())[-1]
        lengths = [row["length"] for row in last]
        shades = ("#b3b8c2", colour.QUIET, colour.POSITIVE)
        for axes, (name, title) in zip(panels, RESTING.items(), strict=True):
            for (checkpoint, rows), shade in zip(results["resting"].items(), shades, strict=True):
                step = int(checkpoint.removeprefix("step-"))
                axes.plot([row["length"] for row in rows], [row[name][name] for row in rows],
                          marker="o", markersize=2.5, linewidth=1.3, color=shade,
                          label=f"step {step:,}")  # fmt: skip
            axes.plot(lengths, [row[name]["uniform"] for row in last],
                      color=colour.NEGATIVE, linewidth=0.9, linestyle=(0, (4, 3)),
                      label="uniform attention")  # fmt: skip
            axes.set_xscale("log", base=2)
            axes.set_xticks(lengths, labels=[str(length) for length in lengths])
            axes.minorticks_off()
            axes.set_ylim(0, 1.02)
            axes.set_xlabel("tokens of the input")
            axes.grid(axis="y")
            axes.set_axisbelow(True)
            axes.set_title(f"On {title}")
        panels[0].axhline(0.6, color=colour.INK, linewidth=0.6)
        panels[0].text(512, 0.615, "0.6: a delimiter head", fontsize=style.TINY, ha="right")
        panels[0].set_ylabel("mass in the best head")
        panels[0].legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=4, borderaxespad=0)
        figure.subplots_adjust(left=0.08, right=0.99, top=0.9, bottom=0.28, wspace=0.08)
        style.save(figure, path)
