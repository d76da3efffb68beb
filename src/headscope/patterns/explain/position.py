"""Position-aware neurons: their query and key depend more on a token's position than on the token.
Moving the positions of the words shows which of the two the head follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.patterns.explain.contributors import Values
from headscope.patterns.explain.inputs import positions, reread
from headscope.patterns.explain.score import head_score
from headscope.patterns.map_scores import score_maps
from headscope.patterns.pattern import Pattern, pattern_named
from headscope.statistics.features.grid import grid_of

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope
    from headscope.text.tokens import Tokens

LEAST = 3  # fewest rows of a position or a token that count as a group


@dataclass(frozen=True, eq=False)
class PositionAware:
    """How much position explains of a head's neurons and of its pattern."""

    neurons: pd.DataFrame  # neuron, query_position, query_token, key_position, key_token (ε²)
    score: float
    shifted: float | None  # all positions moved by the same number
    shuffled: float | None  # positions exchanged within each sentence; score by order in the text
    followed: float | None  # the same run; score by the exchanged positions
    shift: int

    @property
    def words(self) -> str:
        query_position, query_token, key_position, key_token = (
            self.neurons[name].to_numpy(float)
            for name in ("query_position", "query_token", "key_position", "key_token")
        )
        more = int(((query_position > query_token) & (key_position > key_token)).sum())
        text = (
            f"In {more} of {len(query_token)} neurons position explains more of both query and key "
            f"than the token does (means {np.nanmean(query_position):.0%} against "
            f"{np.nanmean(query_token):.0%} of the query)."
        )
        if self.shifted is None or self.shuffled is None or self.followed is None:
            return f"{text} The model takes no position ids, so they could not be moved."
        return (
            f"{text} The score is {self.score:.2f}; {self.shifted:.2f} when all positions move by "
            f"{self.shift}; and when positions are exchanged between words, {self.shuffled:.2f} by "
            f"the words' old positions and {self.followed:.2f} by their new positions."
        )


def position_aware(
    scope: Scope,
    texts: Sequence[str],
    layer: int,
    head: int,
    pattern: str = "next_word",
    *,
    shift: int = 16,
    seed: int = 0,
) -> PositionAware:
    """Look for position-aware neurons in one head, over several texts."""
    if len(texts) < LEAST:
        raise BadInput(
            f"Give at least {LEAST} texts, not {len(texts)}: fewer cannot show whether a neuron "
            "depends on the position or on the token."
        )
    chosen = pattern_named(pattern)
    q, k, places, ids, scores = [], [], [], [], []
    for text in texts:
        reading = scope.read(text, layers=[layer], truncate=True)
        part = reading.part()
        one = part.layer(layer)
        if one.q is None or one.k is None:
            raise BadInput(
                part.why_no_qk
                or "This model does not expose q and k, so position and token cannot be separated."
            )
        q.append(one.q[head])
        k.append(one.k[head // (len(one.q) // len(one.k))])
        places.append(np.arange(len(part.query)))
        ids.append(part.query.ids)
        scores.append(head_score(reading, layer, head, chosen))
    moved = _moved(scope, texts, layer, head, chosen, shift, seed)
    return PositionAware(
        _table(np.concatenate(q), np.concatenate(k), np.concatenate(places), np.concatenate(ids)),
        float(np.nanmean(scores)),
        *(moved or (None, None, None)),
        shift,
    )


def _table(
    q: NDArray[np.float32],
    k: NDArray[np.float32],
    places: NDArray[np.int64],
    ids: NDArray[np.int64],
) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            "neuron": np.arange(q.shape[1]),
            "query_position": adjusted(q, places),
            "query_token": adjusted(q, ids),
            "key_position": adjusted(k, places),
            "key_token": adjusted(k, ids),
        }
    )


def adjusted(values: NDArray[np.float32], groups: NDArray[np.int64]) -> Values:
    """ε² of each column: variance explained by groups, corrected for their number, at least 0.

    Plain η² grows with the number of groups and would always favour the token.
    """
    names, counts = np.unique(groups, return_counts=True)
    kept = np.isin(groups, names[counts >= LEAST])
    chosen, groups = values[kept].astype(np.float64), groups[kept]
    number, rows = len(np.unique(groups)), len(chosen)
    if number < 2 or rows <= number:
        return np.full(chosen.shape[1], np.nan)
    within = np.zeros(chosen.shape[1])
    for group in np.unique(groups):
        inside = chosen[groups == group]
        within += ((inside - inside.mean(0)) ** 2).sum(0)
    total = ((chosen - chosen.mean(0)) ** 2).sum(0)
    share = 1 - (within / (rows - number)) / np.maximum(total / (rows - 1), 1e-30)
    return np.clip(share, 0, 1)


def _moved(
    scope: Scope,
    texts: Sequence[str],
    layer: int,
    head: int,
    pattern: Pattern,
    shift: int,
    seed: int,
) -> tuple[float, float, float] | None:
    """Scores with positions shifted, exchanged (by place), exchanged (by position)."""
    if not scope.accepts("position_ids"):
        return None
    rng = np.random.default_rng(seed)
    found: list[tuple[float, float, float]] = []
    for text in texts:
        batch = scope.encode([text], truncate=True)
        tokens, length = batch.tokens[0], len(batch.tokens[0])
        room = (scope.max_tokens or length + shift) - length
        own = positions(scope, length)
        away = reread(scope, batch, layer, position_ids=own + max(0, min(shift, room)))
        new = _exchanged(tokens, rng)
        swapped = reread(
            scope, batch, layer, position_ids=own[:, torch.from_numpy(new).to(own.device)]
        )
        found.append(
            (
                head_score(away, layer, head, pattern),
                head_score(swapped, layer, head, pattern),
                _by_position(swapped.part().head_weights(layer, head), tokens, new, pattern),
            )
        )
    shifted, shuffled, followed = np.nanmean(np.array(found), axis=0)
    return float(shifted), float(shuffled), float(followed)


def _exchanged(tokens: Tokens, rng: np.random.Generator) -> NDArray[np.int64]:
    """New places: words and punctuation of a sentence exchange theirs, special tokens stay."""
    new = np.arange(len(tokens))
    for segment in np.unique(tokens.segments):
        inside = np.flatnonzero(tokens.content & (tokens.segments == segment))
        new[inside] = rng.permutation(inside)
    return new


def _by_position(
    weights: NDArray[np.float32], tokens: Tokens, new: NDArray[np.int64], pattern: Pattern
) -> float:
    """The score of maps ordered by the positions that the model received."""
    order = np.argsort(new)
    maps = torch.from_numpy(np.array(weights[np.ix_(order, order)], np.float32))[None, None]
    # positions are exchanged within sentences alone, so the text's own grid fits the new order
    causal = not bool(torch.triu(maps[0, 0], 1).any())
    scores = score_maps(pattern, maps, grid_of([tokens], causal=causal))
    return float("nan") if scores is None else float(scores.score[0, 0])
