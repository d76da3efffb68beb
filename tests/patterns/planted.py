"""Made-up texts and attention whose pattern is known, because it was put there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headscope.models.tokens import TokenClass, Tokens
from headscope.patterns.grid import Grid, grid_of
from headscope.patterns.scores import patterns

Weights = NDArray[np.float32]


def pair(seed: int, length: int = 12, vocabulary: int = 14) -> Tokens:
    """[CLS] words [SEP] words [SEP]: words repeat, and every fourth is cut in two pieces."""
    rng = np.random.default_rng(seed)
    text, segments, words, word = ["[CLS]"], [0], [-1], 0
    for segment in (0, 1):
        for i in range(length):
            name = f"w{rng.integers(vocabulary)}"
            pieces = [name, f"##{name}"] if i % 4 == 3 else [name]
            text += pieces
            segments += [segment] * len(pieces)
            words += [word] * len(pieces)
            word += 1
        text.append("[SEP]")
        segments.append(segment)
        words.append(-1)
    return tokens(text, segments, words)


def repeats(seed: int, length: int = 10, times: int = 3) -> Tokens:
    """One made-up phrase said several times, as decoders are tested for induction."""
    rng = np.random.default_rng(seed)
    phrase = [f"w{i}" for i in rng.permutation(50)[:length]]
    text = phrase * times
    return tokens(text, [0] * len(text), list(range(len(text))))


def tokens(text: list[str], segments: list[int], words: list[int]) -> Tokens:
    kinds = {"[CLS]": TokenClass.CLS, "[SEP]": TokenClass.SEP}
    return Tokens(
        text=tuple(text),
        labels=tuple(text),
        ids=np.array([sum(map(ord, t)) for t in text]),
        classes=np.array([kinds.get(t, TokenClass.WORD) for t in text], dtype=np.int8),
        segments=np.array(segments, dtype=np.int8),
        words=np.array(words, dtype=np.int32),
        spans=np.full((len(text), 2), -1, dtype=np.int32),
    )


def grid(name: str, seed: int) -> Grid:
    """A grid on which the pattern called `name` is defined."""
    pattern = patterns()[name]
    row = repeats(seed) if pattern.causal else pair(seed)
    n = len(row)
    draw = np.random.default_rng(seed).normal(size=(n, n)).astype(np.float32)
    mask = np.tri(n, dtype=bool) if pattern.causal else None
    return grid_of(row, mask=mask, likeness=(draw + draw.T) / 4)


def random_attention(grid: Grid, heads: int, seed: int, sharpness: float = 2.0) -> Weights:
    """Attention that knows nothing of the tokens; h t s."""
    logits = np.random.default_rng([seed, 1]).normal(size=(heads, *grid.shape)) * sharpness
    return softmax(logits, grid)


def softmax(logits: NDArray[np.float64], grid: Grid) -> Weights:
    seen = np.where(grid.visible, logits, -np.inf)
    raised = np.exp(seen - seen.max(-1, keepdims=True))
    return (raised / raised.sum(-1, keepdims=True)).astype(np.float32)


def plant(name: str, weights: Weights, grid: Grid, share: float = 0.7) -> Weights:
    """One head (t s) that gives `share` of its attention to the pattern, the rest as before."""
    from headscope.patterns.pattern import MassPattern, RankPattern

    pattern = patterns()[name]
    if isinstance(pattern, MassPattern):
        aim = pattern.targets(grid)
        assert aim is not None
        ideal = aim.mask.astype(float)
    elif isinstance(pattern, RankPattern):
        assert grid.likeness is not None
        ideal = softmax(4.0 * grid.likeness[None].astype(float), grid)[0].astype(float)
    else:
        ideal = (grid.same_segment & grid.visible).astype(float)
    total = ideal.sum(1, keepdims=True)
    ideal = np.divide(ideal, total, out=np.zeros_like(ideal), where=total > 0)
    mixed = np.where(total > 0, share * ideal + (1 - share) * weights, weights)
    return mixed.astype(np.float32)
