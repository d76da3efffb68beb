"""Pictures of what a head maps: an alignment matrix, contacts beside the truth, atoms linked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from headscope.figures import colour, style
from headscope.figures.fonts import drawable

if TYPE_CHECKING:
    from headscope.roles.result import ExampleMap, FoundHeads


def picture(found: FoundHeads, one: ExampleMap) -> Figure:
    """A document in the way of its field."""
    ways = {"contacts": contact_map, "atoms": linked_atoms, "speech": spoken_words}
    row: Any = found.top(n=1).iloc[0]
    return ways.get(found.role, matrix)(
        one, f"{one.where}: head {int(row['layer'])}-{int(row['head'])}"
    )


def matrix(one: ExampleMap, title: str) -> Figure:
    """Queries down, candidates across; right answers are outlined."""
    shown = np.where(one.allowed, one.scores, 0.0)
    rows, columns = shown.shape
    with style.drawing():
        figure = style.new_figure(0.16 * columns + 1.6, 0.16 * rows + 1.2)
        axes = figure.add_subplot()
        axes.imshow(shown, cmap=colour.sequential(), vmin=0, aspect="auto", interpolation="nearest")
        axes.set_xticks(range(columns), [drawable(key) for key in one.keys], rotation=90)
        axes.set_yticks(range(rows), [drawable(query) for query in one.queries])
        axes.tick_params(length=0)
        for row, key in zip(*np.nonzero(one.right), strict=True):
            axes.plot(
                np.array([-0.5, 0.5, 0.5, -0.5, -0.5]) + key,
                np.array([-0.5, -0.5, 0.5, 0.5, -0.5]) + row,
                color=colour.NEGATIVE, linewidth=0.9,
            )  # fmt: skip
        axes.set_title(drawable(title), parse_math=False)
    return figure


def spoken_words(one: ExampleMap, title: str) -> Figure:
    """The spectrogram, with words where they are said (above) and where the head hears them."""
    from headscope.media.sound import open_sound

    sound = open_sound(one.sound, None).at(16000)
    assert one.times is not None
    with style.drawing():
        figure = style.new_figure(min(12.0, 0.5 * sound.seconds + 2.0), 2.4)
        axes = figure.add_subplot()
        axes.specgram(sound.samples, NFFT=400, Fs=16000, noverlap=240, cmap=colour.sequential())
        axes.set_ylim(0, 10000)
        for word, (start, end, first, last) in zip(one.words, one.times, strict=True):
            for low, (left, right), line in (
                (8200, (start, end), colour.NEGATIVE),
                (9200, (first, last), colour.QUIET),
            ):
                axes.plot([left, right], [low, low], color=line, linewidth=2)
            axes.text((start + end) / 2, 8350, drawable(word), ha="center", fontsize=5)
        axes.set_xlim(0, sound.seconds)
        axes.set_xlabel("seconds; lower bars: true times, upper bars: the head's")
        axes.set_ylabel("Hz")
        axes.set_title(drawable(title), parse_math=False)
    return figure


def contact_map(one: ExampleMap, title: str) -> Figure:
    """The head's scores above the diagonal, the true contacts below it."""
    above = np.triu(np.where(one.allowed, one.scores, 0.0), 1)
    top = np.quantile(above[above > 0], 0.99) if (above > 0).any() else 1.0
    with style.drawing():
        figure = style.new_figure(3.6, 3.8)
        axes = figure.add_subplot()
        axes.imshow(above, cmap=colour.sequential(), vmin=0, vmax=top, interpolation="nearest")
        rows, columns = np.nonzero(np.tril(one.right, -1))
        axes.plot(columns, rows, "s", color=colour.NEGATIVE, markersize=1.6)
        axes.set_xlabel("residue; above the diagonal the head's scores, below it true contacts")
        axes.set_ylabel("residue")
        axes.set_title(drawable(title), parse_math=False)
    return figure


def linked_atoms(one: ExampleMap, title: str) -> Figure:
    """Precursor atoms above, product atoms below; each product atom's first candidate is joined."""
    scores = np.where(one.allowed, one.scores, -np.inf)
    with style.drawing():
        figure = style.new_figure(0.13 * max(scores.shape) + 1.0, 2.2)
        axes = figure.add_subplot()
        for at, name in enumerate(one.keys):
            axes.text(at, 1.06, drawable(name), ha="center", va="bottom", fontsize=6)
        for at, name in enumerate(one.queries):
            axes.text(at, -0.06, drawable(name), ha="center", va="top", fontsize=6)
            if not one.allowed[at].any():
                continue
            chosen = int(scores[at].argmax())
            right = bool(one.right[at, chosen]) or not one.right[at].any()
            line = colour.QUIET if right else colour.NEGATIVE
            axes.plot([at, chosen], [0, 1], color=line, linewidth=0.6 if right else 1.1)
        axes.set_ylim(-0.3, 1.3)
        axes.set_xlim(-1, max(scores.shape))
        axes.set_axis_off()
        axes.set_title(
            drawable(f"{title}; precursors above, product below, wrong links in colour"),
            parse_math=False,
        )
    return figure
