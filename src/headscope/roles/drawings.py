"""Pictures of a head's mapping: an alignment matrix, contacts beside the truth, linked atoms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from headscope.figures import colour, style
from headscope.figures.fonts import drawable

if TYPE_CHECKING:
    from headscope.roles.result import ExampleMap, FoundHeads


def picture(found: FoundHeads, one: ExampleMap) -> Figure:
    """Draw a document in its field's usual form."""
    ways = {"contacts": contact_map, "atoms": linked_atoms, "speech": spoken_words}
    row: Any = found.top(n=1).iloc[0]
    return ways.get(found.role, matrix)(
        one, f"{one.where}: head {int(row['layer'])}-{int(row['head'])}"
    )


def matrix(one: ExampleMap, title: str) -> Figure:
    """Queries down, candidates across; right answers outlined, a dot where the head looks most."""
    shown = np.where(one.allowed, one.scores, 0.0)
    rows, columns = shown.shape
    with style.drawing():
        figure = style.new_figure(0.16 * columns + 1.6, 0.16 * rows + 1.2)
        axes = figure.add_subplot()
        most = max(float(shown.max()), 3 / columns)  # uniform attention is pale, never all dark
        axes.imshow(
            shown, cmap=colour.sequential(), vmin=0, vmax=most, aspect="auto",
            interpolation="nearest",
        )  # fmt: skip
        axes.set_xticks(range(columns), [drawable(key) for key in one.keys], rotation=90)
        axes.set_yticks(range(rows), [drawable(query) for query in one.queries])
        axes.tick_params(length=0)
        for row, key in zip(*np.nonzero(one.right), strict=True):
            axes.plot(
                np.array([-0.5, 0.5, 0.5, -0.5, -0.5]) + key,
                np.array([-0.5, -0.5, 0.5, 0.5, -0.5]) + row,
                color=colour.NEGATIVE, linewidth=0.9,
            )  # fmt: skip
        asked = np.flatnonzero(one.allowed.any(axis=1))
        chosen = np.where(one.allowed, one.scores, -np.inf).argmax(axis=1)[asked]
        ground, rim = colour.of_shade(colour.PAPER), colour.of_shade(colour.INK)
        axes.plot(
            chosen, asked, "o", markersize=2.6, color=ground, markeredgecolor=rim,
            markeredgewidth=0.5,
        )  # fmt: skip
        axes.set_xlabel("outlined: true links\ndot: the head's choice", fontsize=style.TINY)
        axes.set_title(drawable(title), parse_math=False)
    return figure


ROW_SECONDS = 8.0  # of speech in a row
DECIBELS = 70.0  # below the loudest moment; quieter noise is blank
INCHES = 1.2  # a second, so that short words have room for their names


def spoken_words(one: ExampleMap, title: str) -> Figure:
    """The spectrogram, with the true times of words (above) and those by the head."""
    from headscope.media.sound import open_sound

    sound = open_sound(one.sound, None).at(16000)
    assert one.times is not None
    rows = max(1, int(np.ceil(sound.seconds / ROW_SECONDS - 0.05)))
    row_seconds = sound.seconds / rows
    with style.drawing():
        figure = style.new_figure(INCHES * max(row_seconds, 2.5) + 0.7, 1.9 * rows + 0.5)
        panels = figure.subplots(rows, 1, squeeze=False)[:, 0]
        for row, axes in enumerate(panels):
            with np.errstate(divide="ignore"):  # digital silence has no decibels
                drawn: Any = axes.specgram(
                    sound.samples, NFFT=400, Fs=16000, noverlap=240, cmap=colour.sequential()
                )
            loudest = float(np.max(drawn[3].get_array()))
            drawn[3].set_clim(loudest - DECIBELS, loudest)
            axes.spines["left"].set_bounds(0, 8000)
            axes.set_xlim(row * row_seconds, (row + 1) * row_seconds)
            axes.set_ylim(0, 11600)
            axes.set_yticks([0, 4000, 8000])
            axes.set_ylabel("Hz")
            _words(axes, one.words, one.times, row * row_seconds, (row + 1) * row_seconds)
        panels[-1].set_xlabel("seconds\norange: true times, grey: the head's")
        panels[0].set_title(drawable(title), parse_math=False)
    return figure


def _words(axes: Any, words: list[str], times: Any, left: float, right: float) -> None:
    """Two bars per word, a gap between neighbours, and its name above if it fits."""
    free = [left, left]  # where each line of names ends so far
    for word, (start, end, first, last) in zip(words, times, strict=True):
        for low, (begins, stops), line in (
            (8400, (start, end), colour.NEGATIVE),
            (9000, (first, last), colour.QUIET),
        ):
            width = max(stops - begins - 0.03, 0.015)
            bar = [(begins + (stops - begins - width) / 2, width)]
            axes.broken_barh(bar, (low, 400), color=line, linewidth=0, clip_on=True)
        middle, half = (start + end) / 2, 0.026 * len(word)
        if not left <= middle < right:
            continue
        level = 0 if middle - half >= free[0] or free[0] <= free[1] else 1
        free[level] = middle + half + 0.04
        axes.text(middle, 9650 + 950 * level, drawable(word), ha="center", va="bottom", fontsize=6)


def contact_map(one: ExampleMap, title: str) -> Figure:
    """The head's scores above the diagonal, the true contacts below it."""
    above = np.triu(np.where(one.allowed, one.scores, 0.0), 1)
    top = np.quantile(above[above > 0], 0.99) if (above > 0).any() else 1.0
    with style.drawing():
        figure = style.new_figure(3.6, 3.8)
        axes = figure.add_subplot()
        axes.imshow(above, cmap=colour.sequential(), vmin=0, vmax=top, interpolation="nearest")
        rows, columns = np.nonzero(np.tril(one.right, -1))
        axes.plot(columns, rows, "s", color=colour.NEGATIVE, markersize=min(1.6, 180 / len(above)))
        axes.set_xlabel("residue\nabove the diagonal: the head's scores; below: true contacts")
        axes.set_ylabel("residue")
        axes.set_title(drawable(title), parse_math=False)
    return figure


def linked_atoms(one: ExampleMap, title: str) -> Figure:
    """Precursor atoms above, product atoms below; each product atom's first candidate is joined."""
    scores = np.where(one.allowed, one.scores, -np.inf)
    with style.drawing():
        figure = style.new_figure(max(2.4, 0.17 * max(scores.shape) + 0.4), 2.2)
        axes = figure.add_subplot()
        for at, name in enumerate(one.keys):
            axes.text(at, 1.06, _symbol(name), ha="center", va="bottom", fontsize=6)
        for at, name in enumerate(one.queries):
            axes.text(at, -0.06, _symbol(name), ha="center", va="top", fontsize=6)
            if not one.allowed[at].any():
                continue
            chosen = int(scores[at].argmax())
            right = bool(one.right[at, chosen]) or not one.right[at].any()
            line = colour.QUIET if right else colour.NEGATIVE
            axes.plot([at, chosen], [0, 1], color=line, linewidth=0.6 if right else 1.1)
        axes.set_ylim(-0.3, 1.3)
        axes.set_xlim(-1, max(scores.shape))
        axes.set_axis_off()
        axes.set_title(drawable(title), parse_math=False)
        style.caption(figure, "precursors above, product below; orange: wrong links")
    return figure


def _symbol(atom: str) -> str:
    """An atom without brackets and signs of chirality, for which neighbours leave no room."""
    return drawable(atom.strip("[]").replace("@", ""))
