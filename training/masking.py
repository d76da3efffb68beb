"""BERT's masking: 15 % of an input's words pieces are to be predicted; of these 80 % become
[MASK], 10 % another piece, 10 % stay. Specials are never chosen. The number chosen is the same
for every input of one length, so the vocabulary is only scored where it is needed."""

from __future__ import annotations

import torch
from torch import Tensor

from training.pairs import Pairs
from training.tokenizer import MASK, SPECIALS

SHARE = 0.15


def mask(
    pairs: Pairs, vocabulary: int, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Corrupted tokens (b t), chosen positions (b m) and the tokens that were there (b m)."""
    tokens, device = pairs.tokens, pairs.tokens.device
    batch, length = tokens.shape
    count = max(1, round(SHARE * (length - 3)))
    order = torch.rand(batch, length, device=device, generator=generator)
    chosen = order.masked_fill(pairs.special, -1.0).topk(count, dim=1).indices
    truth = tokens.gather(1, chosen)
    coin = torch.rand(batch, count, device=device, generator=generator)
    other = torch.randint(
        len(SPECIALS), vocabulary, (batch, count), device=device, generator=generator
    )
    shown = torch.where(coin < 0.8, MASK, torch.where(coin < 0.9, other, truth))
    return tokens.scatter(1, chosen, shown), chosen, truth
