"""Pictures of what probes found: relations by heads, and the best heads in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.figures import colour, style
from headscope.figures.fonts import drawable
from headscope.figures.head_lines import head_lines
from headscope.figures.lines import choose
from headscope.figures.tokens import TokenLine

if TYPE_CHECKING:
    from headscope.corpus.relations.examples import Relation
    from headscope.corpus.treebanks.conllu import Sentence
    from headscope.probes.dependency.heads import DependencyResult
    from headscope.reading import Reading, Scope


def relation_head_map(result: DependencyResult) -> Figure:
    """A row per relation, a column per head: the accuracy of the better direction."""
    names = list(result.summary["relation"])
    values = np.stack(
        [
            np.maximum(result.accuracy_map(name, "dep→head"), result.accuracy_map(name, "head→dep"))
            for name in names
        ]
    )  # relation layer head
    marks = list(zip(result.summary["layer"], result.summary["head"], strict=True))
    return rows_by_heads(values, names, marks, "accuracy", "Relations and heads")


def rows_by_heads(
    values: NDArray[np.float64],  # row layer head
    names: Sequence[str],
    marks: Sequence[tuple[int, int]],  # one (layer, head) a row to outline
    label: str,
    title: str,
) -> Figure:
    """Heads side by side in layers, separated by lines."""
    rows, layers, heads = values.shape
    cell = max(0.045, min(0.11, 7.2 / (layers * heads)))
    with style.drawing():
        figure = style.new_figure(cell * layers * heads + 1.9, 0.15 * rows + 0.9)
        axes = figure.add_subplot()
        image = axes.imshow(
            values.reshape(rows, -1), cmap=colour.sequential(), vmin=0, vmax=1, aspect="auto",
            interpolation="nearest",
        )  # fmt: skip
        axes.set_yticks(range(rows), [drawable(name) for name in names])
        middles = [(layer + 0.5) * heads - 0.5 for layer in range(layers)]
        axes.set_xticks(middles, [str(layer) for layer in range(layers)])
        axes.set_xlabel(f"layer, {heads} heads each; the best head is outlined")
        axes.tick_params(length=0)
        for layer in range(1, layers):
            axes.axvline(layer * heads - 0.5, color=colour.QUIET, linewidth=0.5)
        for row, (layer, head) in enumerate(marks):
            x = int(layer) * heads + int(head)
            axes.plot(
                [x - 0.5, x + 0.5, x + 0.5, x - 0.5, x - 0.5],
                [row - 0.5, row - 0.5, row + 0.5, row + 0.5, row - 0.5],
                color=colour.NEGATIVE, linewidth=0.9,
            )  # fmt: skip
        axes.set_title(drawable(title), parse_math=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
        bar = figure.colorbar(image, ax=axes, fraction=0.02, pad=0.02)
        bar.set_label(label)
    return figure


def sentence_lines(
    scope: Scope,
    sentence: Sentence,
    layer: int,
    head: int,
    *,
    title: str,
) -> Figure:
    """One head's attention between the words of a sentence, as in Clark et al.'s Fig. 5.

    The weight on special tokens is removed and rows are scaled to sum to one, so that attention to
    words is visible.
    """
    reading = scope.read(list(sentence.words)).words()
    return reading_lines(reading, layer, head, title=title, words_only=True)


def best_heads(
    scope: Scope, result: DependencyResult, sentences: Iterable[Sentence], count: int = 8
) -> Iterator[tuple[str, Figure]]:
    """The heads most above their baseline, each in a short sentence that has its relation."""
    scored = result.summary.loc[result.summary["relation"] != "all"]
    chosen: Any = scored.sort_values("above_baseline", ascending=False).head(count)
    for row in chosen.itertuples():
        having = (s for s in sentences if row.relation in s.relations and 6 <= len(s) <= 16)
        sentence = next(having, None)
        if sentence is not None:
            title = f"{row.relation}, {row.direction}, {row.accuracy:.0%} right"
            layer, head = int(row.layer), int(row.head)
            yield row.relation, sentence_lines(scope, sentence, layer, head, title=title)


def relation_lines(scope: Scope, relation: Relation, layer: int, head: int) -> Figure:
    """One head's attention in a text whose words are linked by a relation."""
    target = relation.text[slice(*relation.target)]
    title = f"{relation.name or 'relation'}: {target}"
    reading = scope.read(relation.text).words()
    return reading_lines(reading, layer, head, title=title, words_only=True)


def reading_lines(
    reading: Reading, layer: int, head: int, *, title: str, words_only: bool = False
) -> Figure:
    """One head of a reading; with `words_only` special tokens are removed."""
    tokens = reading.part().query
    weights = reading.part().head_weights(layer, head)  # t t
    keep = np.flatnonzero(tokens.content) if words_only else np.arange(len(tokens))
    shown = weights[np.ix_(keep, keep)]
    if words_only:
        shown = shown / np.maximum(shown.sum(axis=1, keepdims=True), 1e-9)
    line = TokenLine(
        [tokens.labels[n] for n in keep],
        classes=[int(tokens.classes[n]) for n in keep],
        segments=[int(tokens.segments[n]) for n in keep],
        continues=[bool(tokens.continues[n]) for n in keep],
    )
    share = float(weights[np.ix_(keep, keep)].sum() / len(keep))
    caption = f"{reading.model}, layer {layer}, head {head}"
    if words_only:
        caption += f"; {share:.0%} of the weight is on words, scaled up to one"
    heads = reading.part().layer(layer).shape[0]
    return head_lines(
        shown[None], line, line, heads=[head], of_heads=heads, title=title, caption=caption,
        lines=choose(shown[None]),
    )  # fmt: skip
