"""Relation heads: which head links the words of a frame to the word that evokes it.

After Kovaleva et al. 2019, section 4.2: a head's score is the mean over texts of the largest
weight between a piece of an element and a piece of the target. Both directions are scored over
all pairs of pieces; `literal` is the published code's reading, which pairs the pieces off.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from headscope.capture import Call, Kind
from headscope.checked import checked
from headscope.corpus.bad_data import Choice, Fault, Faults
from headscope.corpus.relations.corpus import Relations
from headscope.corpus.relations.examples import Relation, Span
from headscope.errors import BadInput
from headscope.probes.data import Data
from headscope.probes.passes import (
    check_finite,
    check_nonempty,
    length_limit,
    model_inputs,
    self_attention,
)
from headscope.probes.probe_run import probe_run
from headscope.probes.result import ProbeResult
from headscope.results import tidy
from headscope.results.storage import write_output
from headscope.runs import ProgressCallback, State
from headscope.statistics.significance import FEWEST, warn_few
from headscope.text.tokenise import Batch, tokenise
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading import Scope

VARIANTS = ("element→target", "target→element", "literal")
BATCH = 32
TINY = 1e-12
SHUFFLES = 99  # displaced corpora: the smallest p is 0.01
SURE = 24  # texts kept for drawings


@dataclass(frozen=True, eq=False, repr=False)
class RelationsResult(ProbeResult):
    """A score for every head and variant, and the score by chance."""

    heads: pd.DataFrame  # variant, layer, head, score, percentile, null, excess, lift, p
    examples: list[tuple[Relation, float]]  # the texts where the best head is surest
    texts: int

    holds: ClassVar[tuple[type, ...]] = (Faults, Fault, Relation)

    @property
    def title(self) -> str:
        return "Heads that link a target and its elements"

    @property
    def table(self) -> pd.DataFrame:
        """Every head's score; the measure is the variant, such as "element→target"."""
        of = self.heads.rename(columns={"variant": "measure", "score": "value"})
        return tidy(of, kind=self.kind, count=self.texts)

    def best(self, variant: str = VARIANTS[0], n: int = 1) -> pd.DataFrame:
        """The heads with the largest score."""
        rows = self.heads.loc[self.heads["variant"] == variant]
        return rows.nlargest(n, "score").reset_index(drop=True)


@checked
def relations(
    scope: Scope,
    examples: str | Path | Iterable[Relation],
    *,
    shuffles: int = SHUFFLES,
    max_tokens: int | None = None,
    seed: int = 0,
    bad_data: Choice = "skip",
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> RelationsResult:
    """Which head links a target and its elements, such as a frame and its roles.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    examples
        JSONL with text, target and elements, a FrameNet folder, or "sample".
    shuffles
        How many displaced corpora the null distribution is made of.
    max_tokens, seed, bad_data, limit, output, restart, progress
        As for `dependency`.

    Returns
    -------
    RelationsResult
        Every head's score, and its probability by chance.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.probe.relations(hs.load(), "sample", limit=8, shuffles=9, progress=False)
    >>> "layer" in found.table
    True
    """
    if shuffles < 1:
        raise BadInput(f"The null needs at least 1 shuffle, not {shuffles}.")
    opened = Relations(examples, bad_data) if isinstance(examples, (str, Path)) else examples
    faults, data = Faults(bad_data), Data(opened, limit)
    longest = length_limit(scope, max_tokens) if max_tokens or scope.max_tokens else None
    with probe_run(scope, [data], [longest, shuffles, seed], title="Relations",
                   output=output, restart=restart, progress=progress) as run:  # fmt: skip
        scores = _Scores(scope, shuffles, seed, longest, faults)
        part = run.part("scores")
        done = scores.restore(part.recall())
        for number, group in enumerate(_batched(data, BATCH)):
            if number < done:
                scores.places(group)  # so that faults are found again
                continue
            with part.step(scores.state):
                scores.add(group)
            run.tell(min((number + 1) * BATCH, len(data)), len(data))
        data.faults_into(faults)
        check_nonempty(scores.count, "relations", faults)
        found = RelationsResult(
            scores.table(), scores.examples(data), scores.count, faults=faults,
            kind=self_attention(scope),
        )  # fmt: skip
        if output is not None:
            write_output(found, output, found.heads)
    return found


class _Scores:
    """Every head's scores and their null, added up over texts."""

    def __init__(
        self, scope: Scope, shuffles: int, seed: int, longest: int | None, faults: Faults
    ) -> None:
        self._scope, self._shuffles = scope, shuffles
        self._longest, self._faults = longest, faults
        self._kind: Kind = self_attention(scope)
        self._shape = scope.layers[self._kind], scope.heads[self._kind]
        self._generator = np.random.default_rng(seed)
        self._total = np.zeros((len(VARIANTS), *self._shape))
        self._null = np.zeros((len(VARIANTS), shuffles, *self._shape))
        self._sure: list[tuple[int, NDArray[np.float32]]] = []  # which text, layer head
        self._batches = self._texts = self.count = 0

    def places(self, group: list[Relation]) -> tuple[Batch, list[Places | None]]:
        """The group as tokens, and the positions of each text's spans."""
        for one in group:
            if not isinstance(one, Relation):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise BadInput(f"The examples are relations; one is of type {type(one).__name__}.")
        batch = tokenise(self._scope.tokenizer, [r.text for r in group])
        return batch, [
            _places(relation, tokens, self._longest, self._faults)
            for relation, tokens in zip(group, batch.tokens, strict=True)
        ]

    def add(self, group: list[Relation]) -> None:
        batch, places = self.places(group)
        moved = [
            None if place is None else _moved(place, tokens, self._shuffles, self._generator)
            for place, tokens in zip(places, batch.tokens, strict=True)
        ]
        found = np.zeros((len(group), len(VARIANTS), *self._shape), np.float32)

        def sink(call: Call) -> None:
            if call.kind != self._kind:
                return
            weights = call.weights.detach().float().cpu().numpy()  # b h t t
            for row, place in enumerate(places):
                if place is None:
                    continue
                found[row, :, call.layer] = _scores(weights[row], *place)
                pairs = moved[row] or [place] * self._shuffles  # without room to move, no excess
                for number, pair in enumerate(pairs):
                    self._null[:, number, call.layer] += _scores(weights[row], *pair)

        short = _readable(batch, self._longest)
        self._scope.forward(model_inputs(self._scope, short.to(self._scope.device)), sink)
        check_finite(torch.from_numpy(found), 0)
        for row, place in enumerate(places):
            if place is not None:
                self._total += found[row]
                self.count += 1
                self._sure.append((self._texts + row, found[row, 0]))
        best = self._best()
        self._sure.sort(key=lambda pair: -float(pair[1][best]))
        del self._sure[SURE:]  # enough to draw from once the best head is settled
        self._texts += len(group)
        self._batches += 1

    def _best(self) -> tuple[np.intp, ...]:
        return np.unravel_index(int(self._total[0].argmax()), self._shape)

    def table(self) -> pd.DataFrame:
        attending = list(self._scope.layer_numbers[self._kind])
        found = _table(self._total / self.count, self._null / self.count, attending)
        if self.count < FEWEST:
            warn_few(self.count, "texts")
            found["p"] = np.nan
        return found

    def examples(self, data: Iterable[Relation]) -> list[tuple[Relation, float]]:
        """The texts where the best head is surest."""
        best, wanted = self._best(), {number for number, _ in self._sure}
        texts = {number: one for number, one in enumerate(data) if number in wanted}
        scored = [(texts[number], float(scores[best])) for number, scores in self._sure]
        return sorted(scored, key=lambda pair: -pair[1])

    def state(self) -> State:
        sure = [scores for _, scores in self._sure]
        return State(
            {
                "batches": self._batches,
                "texts": self._texts,
                "count": self.count,
                "sure": [number for number, _ in self._sure],
                "random": self._generator.bit_generator.state,
            },
            {
                "total": self._total,
                "null": self._null,
                "sure": np.stack(sure) if sure else np.zeros((0, *self._shape), np.float32),
            },
        )

    def restore(self, state: State | None) -> int:
        """Resume from a state; returns how many batches it has done."""
        if state is not None:
            at = state.position
            self._batches, self._texts, self.count = at["batches"], at["texts"], at["count"]
            self._generator.bit_generator.state = at["random"]
            self._total, self._null = state.arrays["total"], state.arrays["null"]
            self._sure = list(zip(at["sure"], state.arrays["sure"], strict=True))
        return self._batches


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
    """The same numbers of pieces at random positions, without overlap or special tokens."""
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


def _table(
    scores: NDArray[np.float64], null: NDArray[np.float64], attending: list[int]
) -> pd.DataFrame:
    frames: list[pd.DataFrame] = []
    scores, null = scores[:, attending], null[:, :, attending]
    place_of_layer, head = np.indices(scores.shape[1:])
    layer = np.array(attending)[place_of_layer]
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
