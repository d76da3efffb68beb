"""Relation heads: which head links the words of a frame to the word that evokes it.

After Kovaleva et al. 2019, section 4.2: a head's score is the mean over texts of the largest
weight between a piece of an element and a piece of the target. Both directions are scored over
all pairs of pieces; `literal` is the published code's reading, which pairs the pieces off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.capture import Call, Kind
from headscope.corpus.bad_data import Choice, Fault, Faults
from headscope.corpus.relations.examples import Relation, Span
from headscope.probes.passes import check_nonempty, length_limit, model_inputs, self_attention
from headscope.renamed import renamed
from headscope.results import HeadResult, tidy
from headscope.text.tokenise import Batch, tokenise
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading import Scope

VARIANTS = ("element→target", "target→element", "literal")
BATCH = 32
TINY = 1e-12
SHUFFLES = 99  # displaced corpora: the smallest p is 0.01


@dataclass(frozen=True)
class RelationsResult(HeadResult):
    """A score for every head and variant, and what chance would give."""

    heads: pd.DataFrame  # variant, layer, head, score, percentile, null, excess, lift, p
    examples: list[tuple[Relation, float]]  # the texts where the best head is surest
    texts: int
    faults: Faults = field(repr=False)
    kind: Kind = "encoder"

    holds: ClassVar[tuple[type, ...]] = (Faults, Fault, Relation)

    @property
    def title(self) -> str:
        return "Heads that link a target and its elements"

    @property
    def table(self) -> pd.DataFrame:
        """Every head's score; the measure is the variant, such as "element→target"."""
        of = self.heads.rename(columns={"variant": "measure", "score": "value"})
        return tidy(of, kind=self.kind, count=self.texts)

    @renamed(count="n")
    def best(self, variant: str = VARIANTS[0], n: int = 1) -> pd.DataFrame:
        """The heads with the largest score."""
        rows = self.heads.loc[self.heads["variant"] == variant]
        return rows.nlargest(n, "score").reset_index(drop=True)


def probe_relations(
    scope: Scope,
    relations: Iterable[Relation],
    *,
    max_length: int | None = None,
    shuffles: int = SHUFFLES,
    seed: int = 0,
    bad: Choice = "skip",
    progress: Callable[[int], None] | None = None,
) -> RelationsResult:
    """Score every head; the null moves both spans, kept apart, about the same text."""
    faults = Faults(bad)
    kind = self_attention(scope)
    shape = scope.layers[kind], scope.heads[kind]
    limit = length_limit(scope, max_length) if max_length or scope.max_length else None
    generator = np.random.default_rng(seed)
    total = np.zeros((len(VARIANTS), *shape))
    null_total = np.zeros((len(VARIANTS), shuffles, *shape))
    count = 0
    sure: list[tuple[Relation, NDArray[np.float32]]] = []
    for group in _batched(relations, BATCH):
        batch = tokenise(scope.tokenizer, [r.text for r in group])
        places = [
            _places(relation, tokens, limit, faults)
            for relation, tokens in zip(group, batch.tokens, strict=True)
        ]
        moved = [
            None if place is None else _moved(place, tokens, shuffles, generator)
            for place, tokens in zip(places, batch.tokens, strict=True)
        ]
        found = np.zeros((len(group), len(VARIANTS), *shape), np.float32)

        def sink(call: Call) -> None:
            if call.kind != kind:
                return
            weights = call.weights.detach().float().cpu().numpy()  # b h t t
            for row, place in enumerate(places):  # noqa: B023
                if place is None:
                    continue
                found[row, :, call.layer] = _scores(weights[row], *place)  # noqa: B023
                for number, pair in enumerate(moved[row] or ()):  # noqa: B023
                    null_total[:, number, call.layer] += _scores(weights[row], *pair)

        short = _readable(batch, limit)
        scope.forward(model_inputs(scope, short.to(scope.device)), sink)
        for row, place in enumerate(places):
            if place is not None:
                total += found[row]
                count += 1
                sure.append((group[row], found[row, 0]))
        best = np.unravel_index(int(total[0].argmax()), shape)
        sure.sort(key=lambda pair: -float(pair[1][best]))
        del sure[24:]  # enough to draw from once the best head is settled
        if progress:
            progress(len(group))
    if isinstance(noted := getattr(relations, "faults", None), Faults):
        faults.add(noted)
    check_nonempty(count, "relations", faults)
    best = np.unravel_index(int(total[0].argmax()), shape)
    examples = sorted(((r, float(s[best])) for r, s in sure), key=lambda pair: -pair[1])
    table = _table(total / count, null_total / count)
    return RelationsResult(table, examples, count, faults, kind)


Places = tuple[list[NDArray[np.intp]], NDArray[np.intp]]  # pieces of each element, of the target


def _places(relation: Relation, tokens: Tokens, limit: int | None, faults: Faults) -> Places | None:
    if limit is not None and len(tokens) > limit:
        message = f"the text has {len(tokens)} tokens and {limit} are read"
        faults.note("too long", relation.where, message)
        return None

    def pieces(span: Span) -> NDArray[np.intp]:
        start, end = tokens.spans[:, 0], tokens.spans[:, 1]
        return np.flatnonzero((start < span[1]) & (end > span[0]) & (start >= 0))

    target = pieces(relation.target)
    elements = [found for span in relation.elements if len(found := pieces(span))]
    if not len(target) or not elements:
        faults.note("mismatched tokenisation", relation.where, "a span has no token of its own")
        return None
    return elements, target


def _scores(weights: NDArray[np.float32], elements: Sequence[NDArray[np.intp]],
            target: NDArray[np.intp]) -> NDArray[np.float32]:  # fmt: skip
    """variants h: the largest weight between the two sides."""
    pieces = np.concatenate(list(elements))
    to_target = weights[:, pieces[:, None], target].max(axis=(1, 2))
    to_element = weights[:, target[:, None], pieces].max(axis=(1, 2))
    size = min(len(pieces), len(target))
    literal = weights[:, pieces[:size], target[:size]].max(axis=1)
    return np.stack([to_target, to_element, literal])


def _moved(
    places: Places, tokens: Tokens, shuffles: int, generator: np.random.Generator
) -> list[Places]:
    """The same numbers of pieces, put anywhere beside the specials without overlapping."""
    elements, target = places
    inside = np.flatnonzero(tokens.content)
    size = sum(map(len, elements)) + len(target)
    moved: list[Places] = []
    for _ in range(shuffles):
        if len(inside) < size:
            return []
        drawn = np.sort(generator.choice(inside, size, replace=False))
        start = int(generator.integers(size - len(target) + 1))
        chosen = drawn[start : start + len(target)]
        moved.append(([np.setdiff1d(drawn, chosen)], chosen))
    return moved


def _readable(batch: Batch, limit: int | None) -> Batch:
    """A batch cut to what the model can read; the cut texts have been left out already."""
    if limit is None or batch.inputs["input_ids"].shape[1] <= limit:
        return batch
    return Batch({name: whole[:, :limit] for name, whole in batch.inputs.items()}, batch.tokens)


def _batched(items: Iterable[Relation], size: int) -> Iterable[list[Relation]]:
    group: list[Relation] = []
    for item in items:
        group.append(item)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def _table(scores: NDArray[np.float64], null: NDArray[np.float64]) -> pd.DataFrame:
    frames: list[pd.DataFrame] = []
    layer, head = np.indices(scores.shape[1:])
    for place, variant in enumerate(VARIANTS):
        score = scores[place].ravel()
        chance = null[place].reshape(null.shape[1], -1)  # shuffles heads
        below = (score[:, None] > score).mean(axis=1) * 100
        frames.append(
            pd.DataFrame(
                {
                    "variant": variant,
                    "layer": layer.ravel(),
                    "head": head.ravel(),
                    "score": score,
                    "percentile": below,
                    "null": chance.mean(axis=0),
                    "excess": score - chance.mean(axis=0),
                    "lift": score / np.maximum(chance.mean(axis=0), TINY),  # a ratio, as everywhere
                    # the share of displaced corpora that reach the score, never quite zero
                    "p": ((chance >= score).sum(axis=0) + 1) / (len(chance) + 1),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)
