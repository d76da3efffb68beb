"""How much attention goes to linguistic features, from everywhere and from [CLS] at the end.

After Kovaleva et al. 2019, sections 4.4 and 4.5. A feature's score in a head is the mean, over
the sentences that have the feature, of the largest column mean among its words; sentences
without it are left out (the published code counted them as zero).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.capture import Call, Kind
from headscope.corpus.bad_data import Choice, Fault, Faults
from headscope.corpus.treebanks.conllu import Sentence
from headscope.probes.features.sets import (
    FEATURES,
    SPECIALS,
    noun_pronoun_pairs,
    subject_verb_pairs,
    words_with,
)
from headscope.probes.passes import (
    PAPER_LENGTH,
    check_nonempty,
    model_inputs,
    self_attention,
    word_batches,
)
from headscope.results import HeadResult, tidy
from headscope.text.tokens import TokenClass, Tokens

if TYPE_CHECKING:
    from headscope.reading import Scope

PAIRS = ("subject→verb", "verb→subject", "noun→pronoun", "pronoun→noun")


@dataclass(frozen=True)
class FeaturesResult(HeadResult):
    """Scores of every head for every feature."""

    heads: pd.DataFrame  # measure, feature, layer, head, score, sentences
    sentences: int
    faults: Faults = field(repr=False)
    kind: Kind = "encoder"

    holds: ClassVar[tuple[type, ...]] = (Faults, Fault)

    @property
    def title(self) -> str:
        return "Attention to linguistic features"

    @property
    def table(self) -> pd.DataFrame:
        """Every head's score; a measure is named such as "received: noun"."""
        of = self.heads.rename(columns={"score": "value", "sentences": "count"})
        return tidy(of, kind=self.kind, measure=of["measure"] + ": " + of["feature"])


def probe_features(
    scope: Scope,
    sentences: Iterable[Sentence],
    *,
    max_length: int | None = PAPER_LENGTH,
    bad: Choice = "skip",
    progress: Callable[[int], None] | None = None,
) -> FeaturesResult:
    """Attention to features, between subjects and verbs, and from [CLS] in the last layer."""
    faults = Faults(bad)
    kind = self_attention(scope)
    layers, heads = scope.layers[kind], scope.heads[kind]
    names = (*FEATURES, *SPECIALS)
    received = np.zeros((len(names), layers, heads))
    opening = np.zeros((len(names), heads))
    linked = np.zeros((len(PAIRS), layers, heads))
    having, paired = np.zeros(len(names), np.int64), np.zeros(len(PAIRS), np.int64)
    seen = 0
    for batch in word_batches(scope, sentences, faults, max_length=max_length):
        tokens = batch.batch.tokens
        marks = _feature_tokens(batch.items, tokens)  # feature b t
        links = _pair_tokens(batch.items, tokens)  # pair b t t
        having += marks.any(axis=2).sum(axis=1)
        paired += links.any(axis=(2, 3)).sum(axis=1)
        marked, joined = torch.from_numpy(marks), torch.from_numpy(links)
        lengths = torch.tensor([len(of) for of in tokens])

        def sink(
            call: Call, marked: Tensor = marked, joined: Tensor = joined, lengths: Tensor = lengths
        ) -> None:
            if call.kind != kind:
                return
            weights = call.weights.detach().float().cpu()  # b h t t
            real = torch.arange(weights.shape[2]) < lengths[:, None]
            columns = (weights * real[:, None, :, None]).sum(dim=2) / lengths[:, None, None]
            received[:, call.layer] += _largest(columns, marked)
            linked[:, call.layer] += np.stack(
                [_largest(weights.flatten(2), of.flatten(1)[None])[0] for of in joined]
            )
            if call.layer == layers - 1:
                opening[:] += _largest(weights[:, :, 0], marked)

        with torch.inference_mode():
            scope.forward(model_inputs(scope, batch.batch), sink)
        seen += len(batch.items)
        if progress:
            progress(len(batch.items))
    if isinstance(found := getattr(sentences, "faults", None), Faults):
        faults.add(found)
    check_nonempty(seen, "sentences", faults)
    table = pd.concat(
        [
            _rows("received", names, received, having),
            _rows("from opening, last layer", names, opening[:, None], having, layers - 1),
            _rows("between words", PAIRS, linked, paired),
        ],
        ignore_index=True,
    )
    return FeaturesResult(table, seen, faults, kind)


def compare_features(one: FeaturesResult, other: FeaturesResult) -> pd.DataFrame:
    """Two models side by side (before and after fine-tuning), and the change."""
    keys = ["measure", "feature", "layer", "head"]
    both = one.heads.merge(other.heads, on=keys, suffixes=("_a", "_b"))
    return both.assign(change=both["score_b"] - both["score_a"])


def _largest(values: Tensor, marked: Tensor) -> NDArray[np.float64]:
    """features h: the sum over sentences of the largest value (b h n) where marked (f b n)."""
    out: list[NDArray[Any]] = []
    for of in marked:
        rows = of.any(dim=1)
        held = values[rows].masked_fill(~of[rows][:, None], -1.0)
        out.append(
            held.amax(dim=2).sum(dim=0).double().numpy()
            if rows.any()
            else np.zeros(values.shape[1])
        )
    return np.stack(out)


def _feature_tokens(items: Sequence[Sentence], tokens: Sequence[Tokens]) -> NDArray[np.bool_]:
    width = max(map(len, tokens))
    marks = np.zeros((len(FEATURES) + len(SPECIALS), len(items), width), bool)
    for row, (sentence, of) in enumerate(zip(items, tokens, strict=True)):
        for place, feature in enumerate(FEATURES):
            marks[place, row, : len(of)] = np.isin(of.words, words_with(feature, sentence))
        marks[len(FEATURES), row, 0] = of.classes[0] == TokenClass.CLS
        marks[len(FEATURES) + 1, row, : len(of)] = of.classes == TokenClass.SEP
    return marks


def _pair_tokens(items: Sequence[Sentence], tokens: Sequence[Tokens]) -> NDArray[np.bool_]:
    width = max(map(len, tokens))
    links = np.zeros((len(PAIRS), len(items), width, width), bool)
    for row, (sentence, of) in enumerate(zip(items, tokens, strict=True)):
        for first, pairs in ((0, subject_verb_pairs(sentence)), (2, noun_pronoun_pairs(sentence))):
            for one, other in pairs:
                query, key = np.flatnonzero(of.words == one), np.flatnonzero(of.words == other)
                links[first, row, query[:, None], key] = True
                links[first + 1, row, key[:, None], query] = True
    return links


def _rows(
    measure: str,
    names: Sequence[str],
    sums: NDArray[np.float64],
    counts: NDArray[np.int64],
    first_layer: int = 0,
) -> pd.DataFrame:
    frames: list[pd.DataFrame] = []
    layer, head = np.indices(sums.shape[1:])
    for name, total, count in zip(names, sums, counts, strict=True):
        if count:
            frames.append(
                pd.DataFrame(
                    {
                        "measure": measure,
                        "feature": name,
                        "layer": layer.ravel() + first_layer,
                        "head": head.ravel(),
                        "score": (total / count).ravel(),
                        "sentences": int(count),
                    }
                )
            )
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
