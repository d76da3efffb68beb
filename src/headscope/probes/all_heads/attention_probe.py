"""The attention-only probe: one weight a head and direction, nothing else.

p(head i | word j) ∝ exp Σ_k (w_k α_k[j, i] + u_k α_k[i, j]); for the root, attention to and
from the opening and closing tokens stands in, each with one learned scale (Clark et al. 2019,
section 5).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from headscope.probes.all_heads.maps import MapBatch

NEVER = -1e9


class AttentionProbe(nn.Module):
    """Trained in a few seconds; its weights say which heads carry syntax."""

    learning_rate = 0.1

    def __init__(self, maps: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2, maps))  # own direction, then the other
        self.ends = nn.Parameter(torch.ones(2) * 0.5)  # opening and closing token

    def forward(self, batch: MapBatch) -> Tensor:
        """b w 1+w: a score for every candidate head, the root first."""
        size, maps, words, _ = batch.maps.shape
        scores = self.weight @ batch.maps.view(size, maps, words * words)  # b 2 w·w
        own, other = scores.view(size, 2, words, words).unbind(dim=1)
        root = torch.einsum("bkwd,dk->bw", root_features(batch, self.ends), self.weight)
        return candidates(root, own + other.mT, batch)

    def contributions(self, batch: MapBatch) -> Tensor:
        """b w 2k 1+w: what each map adds to each candidate's score."""
        features, root = pair_features(batch), root_features(batch, self.ends)
        flat = torch.cat([root[..., 0], root[..., 1]], dim=1).transpose(1, 2)  # b w 2k
        every = torch.cat([flat[..., None], features], dim=-1)
        return every * self.weight.flatten()[:, None]


def root_features(batch: MapBatch, ends: Tensor) -> Tensor:
    """b k w 2: the root's feature in every map, and in every map turned round."""
    size, maps, words, _ = batch.root.shape
    return batch.root.view(size, maps, words, 2, 2) @ ends


def pair_features(batch: MapBatch) -> Tensor:
    """b w 2k w: for each word and candidate, all maps and all maps turned round."""
    return torch.cat([batch.maps, batch.maps.mT], dim=1).transpose(1, 2)


def candidates(root: Tensor, words: Tensor, batch: MapBatch) -> Tensor:
    """Root and words side by side; a word is no candidate for itself, nor is padding."""
    barred = ~batch.candidates[:, None, :] | torch.eye(
        words.shape[-1], dtype=torch.bool, device=words.device
    )
    return torch.cat([root[..., None], words.masked_fill(barred, NEVER)], dim=-1)
