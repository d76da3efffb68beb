"""Made-up texts and attention whose pattern is known, because it was put there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from headscope.patterns.likeness import Likeness
from headscope.patterns.pattern import Pattern, patterns
from headscope.patterns.rank_correlation import RankPattern
from headscope.patterns.token_pairs import TokenPairs
from headscope.statistics.features.grid import Grid, grid_of
from headscope.text.spelling import TokenClass
from headscope.text.tokens import Tokens

IDS: dict[str, int] = {}  # token ids are given out as tokens come
EMBEDDINGS = torch.randn(2000, 16, generator=torch.Generator().manual_seed(0))


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
        spellings=tuple(text),
        labels=tuple(text),
        ids=np.array([IDS.setdefault(t, len(IDS)) for t in text]),
        classes=np.array([kinds.get(t, TokenClass.WORD) for t in text], dtype=np.int8),
        segments=np.array(segments, dtype=np.int8),
        word_ids=np.array(words, dtype=np.int32),
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
    return found.comparing(Likeness(EMBEDDINGS))


def random_attention(grid: Grid, heads: int, seed: int, sharpness: float = 2.0) -> Tensor:
    """Attention that knows nothing of the tokens; b h t s."""
    batch, n = grid.query.ids.shape
    return softmax(torch.randn(batch, heads, n, n, generator=generator(seed)) * sharpness, grid)


def softmax(logits: Tensor, grid: Grid) -> Tensor:
    seen = TokenPairs(grid, slice(0, logits.shape[2])).visible
    return logits.masked_fill(~seen[:, None], -torch.inf).softmax(-1)


@dataclass(frozen=True)
class Places:
    """One text of a grid as plain lists, from which targets are told by hand."""

    ids: list[int]
    classes: list[int]
    segments: list[int]
    words: list[int]

    def content(self, i: int) -> bool:
        return self.classes[i] >= TokenClass.PUNCTUATION

    def same(self, i: int, j: int) -> bool:
        return i != j and self.content(i) and self.ids[i] == self.ids[j]

    def number(self, token_class: int, j: int) -> int:
        """The token at j is the first, second, … of its class; 0 if it is of another."""
        if self.classes[j] != token_class:
            return 0
        return sum(c == token_class for c in self.classes[: j + 1])


# query and key in, whether the pattern means that key; written without a look at the patterns
MEANT: dict[str, Callable[[Places, int, int], bool]] = {
    "next_word": lambda p, i, j: (
        j == i + 1 and p.segments[i] == p.segments[j] and p.content(i) and p.content(j)
    ),
    "previous_word": lambda p, i, j: (
        j == i - 1 and p.segments[i] == p.segments[j] and p.content(i) and p.content(j)
    ),
    "self_word": lambda p, i, j: i == j and p.content(i),
    "same_word": lambda p, i, j: p.same(i, j),
    "same_word_other": lambda p, i, j: p.same(i, j) and p.segments[i] != p.segments[j],
    "sibling_pieces": lambda p, i, j: i != j and p.words[i] >= 0 and p.words[i] == p.words[j],
    "delimiter": lambda p, i, j: p.content(i) and not p.content(j),
    "delimiter_cls": lambda p, i, j: p.content(i) and p.number(TokenClass.CLS, j) == 1,
    "delimiter_sep1": lambda p, i, j: p.content(i) and p.number(TokenClass.SEP, j) == 1,
    "delimiter_sep2": lambda p, i, j: p.content(i) and p.number(TokenClass.SEP, j) == 2,
    "bag_of_words": lambda p, i, j: p.segments[i] == p.segments[j],
    "sink": lambda p, i, j: j == 0 and i >= 4,
    "induction": lambda p, i, j: 0 < j < i and p.ids[j - 1] == p.ids[i],
    "duplicate_token": lambda p, i, j: j < i and p.ids[j] == p.ids[i],
}


def plant(name: str, weights: Tensor, grid: Grid, share: float = 0.7) -> Tensor:
    """One head (b t s) that gives `share` of its attention to the pattern, the rest as before."""
    if isinstance(patterns()[name], RankPattern):
        vectors = normalize(EMBEDDINGS[grid.query.ids], dim=-1)
        ideal = softmax(5.0 * (vectors @ vectors.transpose(1, 2))[:, None], grid)[:, 0]
    else:
        ideal = torch.stack([meant(name, grid, row) for row in range(len(weights))])
    total = ideal.sum(2, keepdim=True)
    return torch.where(total > 0, share * ideal / total + (1 - share) * weights, weights)


def meant(name: str, grid: Grid, row: int) -> Tensor:
    """t s: 1 where the pattern of that name means the key."""
    side, n = grid.query, grid.query.ids.shape[1]
    text = Places(
        *([int(x) for x in tensor[row]] for tensor in (side.ids, side.classes, side.segments)),
        words=[int(x) for x in side.words[row]],
    )
    keys = [[float(MEANT[name](text, i, j)) for j in range(n)] for i in range(n)]
    return torch.tensor(keys)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
