"""Running text with shaded words, wrapped; long texts as passages."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from headscope.figures import style
from headscope.figures.colour import INK, PAPER, QUIET, head_colours, of_shade, sequential
from headscope.figures.fonts import drawable
from headscope.figures.frame import finish
from headscope.figures.frame import text_width as whole_pixels

WIDTH, LINE, PARAGRAPH = 6.4, 0.205, 0.09  # inches
SIZE = style.BODY + 1
MOST_LINES = 80  # longer texts are drawn as their strongest passages
PASSAGES = 8  # passages with the strongest words
NUMBERED = 0.3  # least share of a word that shows its head's number
DARKEST = 0.86  # end of the colour scale, as on the page
_IDEOGRAPH = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_CLOSING = re.compile(r"^[、。，．・：；？！」』）】〉》〕…ー々!?,.:;)\]}»”’]")


def text_width(text: str, size: float) -> float:
    """Measure at a large size: at its own size each word would be rounded to whole pixels."""
    return whole_pixels(text, size * 10) / 10


@dataclass
class Word:
    written: str  # with the text before it
    label: str
    special: bool
    segment: int
    weight: float
    share: float  # of the darkest word's, 0 to 1
    head: int | None
    in_hand: bool
    starts: bool = False  # first word of another text

    @property
    def text(self) -> str:
        if self.special:
            return self.label
        bare = self.written.strip()
        return bare or ("⏎" if "\n" in self.written else "·")

    @property
    def lead(self) -> str:
        return self.written[: len(self.written) - len(self.written.lstrip())].replace("\t", "    ")


@dataclass(frozen=True)
class _Placed:
    word: Word
    x: float
    width: float
    size: float


def running_text(
    words: Sequence[Word],
    *,
    title: str,
    caption: str,
    largest: float,
    square_root: bool = False,
    of_heads: int = 1,
    by_head: bool = False,
    right_to_left: bool = False,
) -> Figure:
    with style.drawing():
        lines = _lines(words)
        shown = _passages(lines)
        tops, height = _tops(lines, shown)
        figure = style.new_figure(WIDTH, max(height, LINE))
        axes = figure.add_axes((0, 0, 1, 1))
        style.bare(axes)
        axes.set_xlim(0, WIDTH)
        axes.set_ylim(max(height, LINE), 0)
        colours = head_colours(of_heads)
        for number, top in zip(shown, tops, strict=True):
            if number < 0:
                count = -number
                note = f"⋯ {count:,} line{'s' if count > 1 else ''} not shown"
                axes.text(0, top + LINE * 0.66, note, fontsize=style.TINY, color=of_shade(QUIET))
                continue
            for placed in lines[number][1]:
                _word(axes, placed, top, colours, right_to_left)
        heads = sorted({word.head for word in words if word.head is not None and word.share > 0.1})
        chips = [(f"head {head}", colours[head]) for head in heads] if by_head else []
        how = ", shaded by its square root" if square_root else ""
        scale = [(f"darkest: weight {largest:.3f}{how}", "#" + _hex(DARKEST))]
        legend = chips if by_head else scale
        finish(figure, title, caption, legend=legend)
    return figure


def _hex(share: float) -> str:
    return "".join(f"{round(255 * part):02x}" for part in sequential()(share)[:3])


def _lines(words: Sequence[Word]) -> list[tuple[bool, list[_Placed]]]:
    """Each line, and whether a paragraph ends before it."""
    space = text_width("x x", SIZE) - text_width("xx", SIZE)
    lines: list[tuple[bool, list[_Placed]]] = []
    line: list[_Placed] = []
    x, apart = 0.0, False
    before: Word | None = None

    def close(ends_paragraph: bool) -> None:
        nonlocal line, x, apart
        if line:
            lines.append((apart, line))
        line, x, apart = [], 0.0, ends_paragraph

    for word in words:
        size = SIZE * (0.78 if word.special or not word.written.strip() else 1.0)
        width = text_width(drawable(word.text), size)
        breaks = _breaks(before, word)
        if breaks:
            close(breaks > 1)
            x = space * len(word.lead.rsplit("\n", 1)[-1]) if "\n" in word.lead else 0.0
        else:
            apart_by = len(word.lead) or int(
                word.special or (before is not None and before.special)
            )
            x += space * apart_by if line else 0.0
        if line and x + width > WIDTH:
            carried = _carried(line, word)
            kept = line[: len(line) - len(carried)]
            line = kept
            close(False)
            for placed in carried:
                line.append(_Placed(placed.word, x, placed.width, placed.size))
                x += placed.width
        line.append(_Placed(word, x, width, size))
        x += width
        before = word
    close(False)
    return lines


def _carried(line: Sequence[_Placed], word: Word) -> list[_Placed]:
    """The pieces that must go to the next line together with a word."""
    carried: list[_Placed] = []
    after = word
    for placed in reversed(line):
        if _may_break(placed.word, after):
            return list(reversed(carried))
        carried.append(placed)
        after = placed.word
    return []  # longer than a line: cut


def _may_break(before: Word, after: Word) -> bool:
    if after.lead or before.special or after.special:
        return True
    if _CLOSING.match(after.text):
        return False
    if before.text[-1:] in "-–—/_":
        return True
    return bool(_IDEOGRAPH.search(before.text[-1:]) or _IDEOGRAPH.search(after.text[:1]))


def _breaks(before: Word | None, word: Word) -> int:
    if before is None:
        return 0
    if word.segment != before.segment or word.starts:
        return 2
    after = before.written[len(before.written.rstrip()) :] if before.written.strip() else ""
    own = before.written if not before.written.strip() else ""
    lead = word.lead if word.written.strip() else ""
    return max(after.count("\n"), own.count("\n"), 0 if word.special else lead.count("\n"))


def _passages(lines: Sequence[tuple[bool, list[_Placed]]]) -> list[int]:
    """Numbers of the lines drawn; -n stands for n lines left out."""
    if len(lines) <= MOST_LINES:
        return list(range(len(lines)))
    strongest = [max((p.word.weight for p in line), default=0.0) for _, line in lines]
    wanted = {int(at) for at in np.argsort(strongest)[::-1][:PASSAGES]}
    wanted |= {at for at, (_, line) in enumerate(lines) if any(p.word.in_hand for p in line)}
    kept = {at + by for at in wanted for by in (-2, -1, 0, 1, 2) if 0 <= at + by < len(lines)}
    shown: list[int] = []
    for is_kept, group in itertools.groupby(range(len(lines)), key=kept.__contains__):
        numbers = list(group)
        shown += numbers if is_kept else [-len(numbers)]
    return shown


def _tops(
    lines: Sequence[tuple[bool, list[_Placed]]], shown: Sequence[int]
) -> tuple[list[float], float]:
    tops: list[float] = []
    top = 0.0
    for number in shown:
        if tops and number >= 0 and lines[number][0]:
            top += PARAGRAPH
        tops.append(top)
        top += LINE
    return tops, top


def _word(
    axes: object, placed: _Placed, top: float, colours: Sequence[str], right_to_left: bool
) -> None:
    word, width = placed.word, placed.width
    x = WIDTH - placed.x - width if right_to_left else placed.x
    ink = of_shade(QUIET if word.special or not word.written.strip() else INK)
    pad = 0.012
    if word.share > 0.015:
        ground = _ground(word, colours)
        box = Rectangle((x - pad, top + 0.02), width + 2 * pad, LINE - 0.04, color=ground, lw=0)
        axes.add_patch(box)  # pyright: ignore[reportAttributeAccessIssue]
        light = 0.2126 * ground[0] + 0.7152 * ground[1] + 0.0722 * ground[2]
        ink = "#ffffff" if light < 0.45 else INK  # readable on the word's shade in either theme
    if word.head is not None and word.share > NUMBERED:  # show the number of the colour's head
        axes.text(x, top + 0.012, str(word.head), fontsize=4.5, color=of_shade(QUIET))  # pyright: ignore[reportAttributeAccessIssue]
    if word.in_hand:
        frame = Rectangle(
            (x - pad, top + 0.015),
            width + 2 * pad,
            LINE - 0.03,
            fill=False,
            ec=of_shade(INK),
            lw=1.1,
            zorder=3,
        )
        axes.add_patch(frame)  # pyright: ignore[reportAttributeAccessIssue]
    axes.text(  # pyright: ignore[reportAttributeAccessIssue]
        x,
        top + LINE * 0.70,
        drawable(word.text),
        fontsize=placed.size,
        color=ink,
        ha="left",
        va="baseline",
        parse_math=False,
    )


def _ground(word: Word, colours: Sequence[str]) -> tuple[float, float, float]:
    if word.head is None:
        red, green, blue = sequential()(word.share * DARKEST)[:3]
        return float(red), float(green), float(blue)
    paper, own = to_rgb(of_shade(PAPER)), to_rgb(colours[word.head])
    red, green, blue = (a + (b - a) * word.share for a, b in zip(paper, own, strict=True))
    return red, green, blue
