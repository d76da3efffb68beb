"""Made-up texts and attention whose pattern is known, because it was put there."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.known import patterns
from headscope.patterns.likeness import Likeness
from headscope.patterns.pattern import Pattern
from headscope.patterns.rank_correlation import RankPattern
from headscope.patterns.token_pairs import Sheet
from headscope.statistics.features.grid import Grid, grid_of
from headscope.text.tokens import TokenClass, Tokens

IDS: dict[str, int] = {}  # token ids are given out as tokens come


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
        ids=np.array([IDS.setdefault(t, len(IDS)) for t in text]),
        classes=np.array([kinds.get(t, TokenClass.WORD) for t in text], dtype=np.int8),
        segments=np.array(segments, dtype=np.int8),
        words=np.array(words, dtype=np.int32),
        spans=np.full((len(text), 2), -1, dtype=np.int32),
    )


def grid(name: str, *seeds: int) -> Grid:
    """A grid of as many texts as seeds on which the pattern called `name` is defined."""
    causal = bool(patterns()[name].causal)
    make = repeats if causal else pair
    return grid_of([make(seed) for seed in seeds], causal=causal)


def pattern(name: str) -> Pattern:
    """The pattern, with a made-up likeness where it needs one."""
    found = patterns()[name]
    if not isinstance(found, RankPattern):
        return found
    return found.comparing(Likeness(torch.randn(2000, 16, generator=generator(0))))


def random_attention(grid: Grid, heads: int, seed: int, sharpness: float = 2.0) -> Tensor:
    """Attention that knows nothing of the tokens; b h t s."""
    batch, n = grid.query.ids.shape
    return softmax(torch.randn(batch, heads, n, n, generator=generator(seed)) * sharpness, grid)


def softmax(logits: Tensor, grid: Grid) -> Tensor:
    seen = Sheet(grid, slice(0, logits.shape[2])).visible
    return logits.masked_fill(~seen[:, None], -torch.inf).softmax(-1)


def plant(name: str, weights: Tensor, grid: Grid, share: float = 0.7) -> Tensor:
    """One head (b t s) that gives `share` of its attention to the pattern, the rest as before."""
    chosen = pattern(name)
    every = slice(0, weights.shape[1])
    if isinstance(chosen, MassPattern):
        ideal = chosen.rows_and_keys(grid)[0].float()
    elif isinstance(chosen, RankPattern):
        assert chosen.likeness is not None
        ideal = softmax(5.0 * chosen.likeness(grid, every)[:, None], grid)[:, 0]
    else:
        sheet = Sheet(grid, every)
        ideal = (sheet.same_segment & sheet.visible).float()
    total = ideal.sum(2, keepdim=True)
    return torch.where(total > 0, share * ideal / total + (1 - share) * weights, weights)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
