"""What can be had without attention: distances and word vectors (Clark et al.'s control)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from headscope.probes.all_heads.attention_probe import candidates
from headscope.probes.all_heads.maps import MapBatch

OFFSETS = (0, 1, -1, 2, -2)
FEATURES = 2 + len(OFFSETS) + 1  # how far ahead, how far behind, near offsets, root
HIDDEN = 256


class DistancesProbe(nn.Module):
    """A small network on eight numbers of position and the two word vectors."""

    learning_rate = 0.005

    def __init__(self, vectors: Tensor) -> None:  # vocabulary width
        super().__init__()
        self.register_buffer("vectors", vectors)
        self.place = nn.Linear(FEATURES, HIDDEN)
        self.dependent = nn.Linear(vectors.shape[1], HIDDEN, bias=False)
        self.candidate = nn.Linear(vectors.shape[1], HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, 1, bias=False)

    def forward(self, batch: MapBatch) -> Tensor:
        """b w 1+w: a score for every candidate head, the root first."""
        vectors = self.get_buffer("vectors")[batch.words.long()]
        dependent = self.dependent(vectors)  # b w hidden
        places = self.place(_places(batch))  # b w w hidden
        hidden = places + dependent[:, :, None] + self.candidate(vectors)[:, None]
        at_root = torch.zeros(FEATURES, device=vectors.device)
        at_root[-1] = 1
        root = self.out(torch.tanh(self.place(at_root) + dependent)).squeeze(-1)
        return candidates(root, self.out(torch.tanh(hidden)).squeeze(-1), batch)


def _places(batch: MapBatch) -> Tensor:
    size, words = batch.heads.shape
    word = torch.arange(words, device=batch.heads.device)
    offset = (word[None, :] - word[:, None]).float()  # candidate − dependent
    length = batch.candidates.sum(dim=1).clamp(min=1)[:, None, None]
    near = [(offset == o).float().expand(size, -1, -1) for o in OFFSETS]
    ahead, behind = offset.clamp(min=0) / length, (-offset).clamp(min=0) / length
    return torch.stack([ahead, behind, *near, torch.zeros_like(ahead)], dim=-1)
