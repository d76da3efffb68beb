"""Sentence-sign neurons: their product is positive within a sentence and negative across, because
query and key carry the sentence's sign. Zeroing the segment ids shows whether that is the cause.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.patterns.explain.contributors import BIAS, Values, contributors
from headscope.patterns.explain.inputs import reread
from headscope.patterns.explain.score import head_score
from headscope.patterns.pattern import pattern_named

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Reading, Scope


@dataclass(frozen=True, eq=False)
class SentenceSign:
    """What ties a head's attention to the sentence."""

    neurons: pd.DataFrame  # neuron, sign_gap, query_r2, key_r2; the largest gap first
    score: float
    zeroed: float | None  # the score when all tokens are given the first sentence's segment id

    @property
    def words(self) -> str:
        best = self.neurons.iloc[0]
        strong = int((self.neurons["sign_gap"].to_numpy(float) > 0.5).sum())
        text = (
            f"{strong} of {len(self.neurons)} neurons have a positive product over 50 points more "
            f"often within a sentence than across; the clearest, {best['neuron']}, by "
            f"{100 * best['sign_gap']:.0f} points (the sentence explains {best['query_r2']:.0%} of "
            f"its query and {best['key_r2']:.0%} of its key)."
        )
        if self.zeroed is None:
            return f"{text} The model reads no segment ids, so they cannot be the cause."
        return (
            f"{text} With segment ids zeroed the score goes from {self.score:.2f} to "
            f"{self.zeroed:.2f}."
        )


def sentence_sign(
    scope: Scope,
    text: str,
    text_pair: str,
    layer: int,
    head: int,
    pattern: str = "bag_of_words",
) -> SentenceSign:
    """Look for sentence-sign neurons in one head on a sentence pair."""
    import pandas as pd

    reading = scope.read(text, text_pair, layers=[layer])
    part = reading.part()
    segments = part.query.segments
    if len(np.unique(segments)) < 2:
        raise BadInput("Sentence-sign neurons need a sentence pair; pass text_pair= too.")
    parts = contributors(part, layer, head)
    content = part.query.content
    asked = parts.visible & content[:, None] & content[None, :]
    same = segments[:, None] == segments[None, :]
    positive = parts.parts > 0
    gap = positive[:, asked & same].mean(1) - positive[:, asked & ~same].mean(1)
    one = part.layer(layer)
    assert one.q is not None and one.k is not None
    query = explained(one.q[head][content], segments[content])
    key = explained(one.k[head // (len(one.q) // len(one.k))][content], segments[content])
    rows = [
        {
            "neuron": name,
            "sign_gap": float(gap[c]),
            "query_r2": float(query[list(group)].mean()),
            "key_r2": float(key[list(group)].mean()),
        }
        for c, (name, group) in enumerate(zip(parts.names, parts.neurons, strict=True))
        if group != (BIAS,)
    ]
    frame = pd.DataFrame(rows).sort_values("sign_gap", ascending=False, ignore_index=True)
    chosen = pattern_named(pattern)
    return SentenceSign(
        frame,
        head_score(reading, layer, head, chosen),
        _zeroed(scope, text, text_pair, layer, head, pattern),
    )


def explained(values: NDArray[np.floating], groups: NDArray[np.integer]) -> Values:
    """Share of each column's variance that group means explain (η²); values n d."""
    centred = values.astype(np.float64) - values.mean(0)
    between = np.zeros(values.shape[1])
    for group in np.unique(groups):
        rows = centred[groups == group]
        between += len(rows) * rows.mean(0) ** 2
    total = (centred**2).sum(0)
    return np.divide(between, total, out=np.zeros_like(total), where=total > 0)


def _zeroed(
    scope: Scope, text: str, text_pair: str, layer: int, head: int, pattern: str
) -> float | None:
    batch = scope.encode([text], [text_pair])
    types = batch.inputs.get("token_type_ids")
    if types is None or not bool(types.any()) or not scope.accepts("token_type_ids"):
        return None
    changed: Reading = reread(scope, batch, layer, token_type_ids=types * 0)
    return head_score(changed, layer, head, pattern_named(pattern))
