"""Pictures of what probes found: relations by heads, and the best heads in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.figures import colour, style
from headscope.figures.fonts import drawable
from headscope.figures.head_lines import head_lines
from headscope.figures.lines import choose
from headscope.figures.tokens import TokenLine
from headscope.probes.dependency.tally import DIRECTIONS

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
    gold: Sequence[tuple[int, int]] = (),
) -> Figure:
    """One head's attention between the words of a sentence, as in Clark et al.'s Fig. 5.

    The weight on special tokens is removed and rows are scaled to sum to one, so that attention to
    words is visible. `gold` are arcs to draw dashed: the words that should attend and be attended.
    """
    reading = scope.read(list(sentence.words)).words()
    return reading_lines(reading, layer, head, title=title, words_only=True, gold=gold)


def best_heads(
    scope: Scope, result: DependencyResult, sentences: Iterable[Sentence], count: int = 8
) -> Iterator[tuple[str, Figure]]:
    """The heads most above their baseline, each in a short sentence, with the relation's arcs."""
    scored = result.summary.loc[result.summary["relation"] != "all"]
    chosen: Any = scored.sort_values("above_baseline", ascending=False).head(count)
    for row in chosen.itertuples():
        having = (s for s in sentences if row.relation in s.relations and 6 <= len(s) <= 16)
        sentence = next(having, None)
        if sentence is not None:
            title = f"{row.relation}, {row.direction}, {row.accuracy:.0%} right"
            layer, head = int(row.layer), int(row.head)
            gold = [
                _arc(row.direction, word, governor)
                for word, governor in enumerate(sentence.heads)
                if sentence.relations[word] == row.relation
            ]
            drawn = sentence_lines(scope, sentence, layer, head, title=title, gold=gold)
            yield row.relation, drawn


def case_lines(scope: Scope, result: DependencyResult, case: int) -> Figure:
    """A row of `result.cases`: the attention that decided it, and the gold arc, dashed."""
    if not 0 <= case < len(result.cases):
        raise BadInput(f"There are cases 0 to {len(result.cases) - 1}, and no case {case}.")
    of: Any = result.cases.iloc[case]
    summary: Any = result.summary
    best = summary[summary["relation"] == of["relation"]]
    if best.empty:
        raise BadInput(f"{of['relation']!r} has no row in the summary; lower the minimum.")
    best = best.iloc[0]
    verdict = "right" if of["right"] else f"wrong, it chose {of['choice']}"
    title = f"{of['relation']}: {of['dependent']} → {of['governor']}, {verdict}"
    reading = scope.read(of["text"].split(" ")).words()
    return reading_lines(
        reading, int(best["layer"]), int(best["head"]), title=title, words_only=True,
        gold=[_arc(best["direction"], int(of["dependent_at"]), int(of["governor_at"]))],
        selected="query" if best["direction"] == DIRECTIONS[0] else "key",
    )  # fmt: skip


def _arc(direction: str, dependent: int, governor: int) -> tuple[int, int]:
    """The arc as query and key of a head that reads it in this direction."""
    return (dependent, governor) if direction == DIRECTIONS[0] else (governor, dependent)


def relation_lines(scope: Scope, relation: Relation, layer: int, head: int) -> Figure:
    """One head's attention in a text whose words are linked by a relation."""
    target = relation.text[slice(*relation.target)]
    title = f"{relation.name or 'relation'}: {target}"
    reading = scope.read(relation.text).words()
    return reading_lines(reading, layer, head, title=title, words_only=True)


def reading_lines(
    reading: Reading,
    layer: int,
    head: int,
    *,
    title: str,
    words_only: bool = False,
    gold: Sequence[tuple[int, int]] = (),  # query and key, as word numbers
    selected: Literal["query", "key"] | None = None,  # only the lines of this end of the gold arc
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
    at = {int(word): place for place, word in enumerate(tokens.word_ids[keep])}
    arcs = [(at[query], at[key]) for query, key in gold if query in at and key in at]
    query = arcs[0][0] if arcs and selected == "query" else None
    key = arcs[0][1] if arcs and selected == "key" else None
    return head_lines(
        shown[None], line, line, heads=[head], of_heads=heads, title=title, caption=caption,
        lines=choose(shown[None], query=query, key=key), pinned=(query, key), gold=arcs,
    )  # fmt: skip
