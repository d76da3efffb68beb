"""Seven patterns scored per head, with their value under uniform attention.

Scores are means over content queries (no special token) that have a target; keys are all tokens
of the input. Inputs are not padded. Definitions:

next_word, previous_word   attention to the neighbour, both content, same segment
same_word                  to other copies of the query's token
other_sentence             to copies of it in the other segment
sibling_pieces             to the other pieces of its word
delimiter                  to [CLS] and [SEP] (split in `delimiter_cls`, `_sep1`, `_sep2`)
bag_of_words               mass on content of its own segment × entropy there / ln(size)
punctuation                to . and , (beside `delimiter`, never part of it)
"""

from __future__ import annotations

import torch
from torch import Tensor

from training.tokenizer import CLS, SEP

PATTERNS = (
    "next_word",
    "previous_word",
    "same_word",
    "other_sentence",
    "sibling_pieces",
    "delimiter",
    "bag_of_words",
)


def targets(
    tokens: Tensor, segments: Tensor, continues: Tensor, punctuation: Tensor
) -> dict[str, Tensor]:
    """For every mass pattern, which keys count for which query: bool b q k.

    `continues` and `punctuation` are bool tables over the vocabulary: pieces that begin with
    ##, and the pieces . and ,
    """
    length = tokens.shape[1]
    device = tokens.device
    special = (tokens == CLS) | (tokens == SEP)
    content = ~special
    both = content[:, :, None] & content[:, None, :]
    same_segment = segments[:, :, None] == segments[:, None, :]
    other = ~torch.eye(length, dtype=torch.bool, device=device)
    offset = torch.arange(length, device=device)
    offset = offset[None, :] - offset[:, None]  # key minus query
    same_token = both & other & (tokens[:, :, None] == tokens[:, None, :])
    # A word starts at every piece that does not continue one; specials are words of their own.
    word = (~continues[tokens] | special).long().cumsum(1)
    separators = (tokens == SEP).long().cumsum(1)
    first = (tokens == SEP) & (separators == 1)
    rows = content[:, :, None].expand(-1, -1, length)
    return {
        "next_word": both & same_segment & (offset == 1),
        "previous_word": both & same_segment & (offset == -1),
        "same_word": same_token,
        "other_sentence": same_token & ~same_segment,
        "sibling_pieces": both & other & (word[:, :, None] == word[:, None, :]),
        "delimiter": rows & special[:, None, :],
        "delimiter_cls": rows & (tokens == CLS)[:, None, :],
        "delimiter_sep1": rows & first[:, None, :],
        "delimiter_sep2": rows & ((tokens == SEP) & ~first)[:, None, :],
        "punctuation": rows & punctuation[tokens][:, None, :],
        # bag_of_words needs its keys too, so it travels along
        "bag_of_words": both & same_segment,
    }


def bag_of_words(attention: Tensor, keys: Tensor) -> Tensor:
    """(mass in the segment) × (entropy within it / ln of its size): b h q."""
    inside = attention * keys[:, None]
    mass = inside.sum(-1)
    p = inside / mass.clamp_min(1e-9)[..., None]
    entropy = -torch.special.xlogy(p, p).sum(-1)
    size = keys.sum(-1)[:, None]
    return mass * entropy / size.clamp_min(2).log()


class Tally:
    """Sums of scores and of counted queries, streamed over inputs and layers."""

    def __init__(self, layers: int, heads: int) -> None:
        self.sums: dict[str, Tensor] = {}
        self.counts: dict[str, float] = {}
        self.uniform: dict[str, float] = {}
        self.layers, self.heads = layers, heads

    def count(self, found: dict[str, Tensor]) -> None:
        """Once per batch: how many queries have a target, what uniform attention would score."""
        for name, keys in found.items():
            length = keys.shape[-1]
            having = keys.any(-1)
            share = keys.sum(-1).float() / length
            self.counts[name] = self.counts.get(name, 0.0) + float(having.sum())
            self.uniform[name] = self.uniform.get(name, 0.0) + float((share * having).sum())

    def add(self, layer: int, attention: Tensor, found: dict[str, Tensor]) -> None:
        """attention: b h q k."""
        for name, keys in found.items():
            if name == "bag_of_words":
                score = bag_of_words(attention, keys) * keys.any(-1)[:, None]
                total = score.sum((0, 2))
            else:
                total = torch.einsum("bhqk,bqk->h", attention, keys.to(attention.dtype))
            zeros = torch.zeros(self.layers, self.heads, dtype=torch.float64, device=total.device)
            self.sums.setdefault(name, zeros)[layer] += total.double()  # stays there: no waiting

    def scores(self) -> dict[str, Tensor]:
        """Each pattern's mean score, layer × head."""
        return {name: sums.cpu() / max(self.counts[name], 1.0) for name, sums in self.sums.items()}

    def uniform_scores(self) -> dict[str, float]:
        return {name: total / max(self.counts[name], 1.0) for name, total in self.uniform.items()}
