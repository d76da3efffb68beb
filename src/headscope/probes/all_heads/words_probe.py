"""The attention-and-words probe: the two words decide how much each head counts.

The weights of all maps are a linear function of the word vectors of the dependent and the
candidate (Clark et al. 2019, section 5); the vectors stay as they are, the root's is zero.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from headscope.probes.all_heads.attention_probe import candidates, pair_features, root_features
from headscope.probes.all_heads.maps import MapBatch


class WordsProbe(nn.Module):
    """A dense layer from two word vectors to a weight for every map and direction."""

    learning_rate = 0.01

    def __init__(self, maps: int, vectors: Tensor) -> None:  # vectors: vocabulary width
        super().__init__()
        self.register_buffer("vectors", vectors)
        width = vectors.shape[1]
        self.dependent = nn.Linear(width, 2 * maps)  # its bias is the layer's
        self.candidate = nn.Linear(width, 2 * maps, bias=False)
        self.ends = nn.Parameter(torch.ones(2) * 0.5)

    def forward(self, batch: MapBatch) -> Tensor:
        """b w 1+w: a score for every candidate head, the root first."""
        dependent, candidate = self._weights(batch)
        features = pair_features(batch)  # b w 2k w
        scores = torch.einsum("bjk,bjki->bji", dependent, features)
        scores = scores + torch.einsum("bik,bjki->bji", candidate, features)
        root = (self._root(batch) * dependent).sum(dim=-1)
        return candidates(root, scores, batch)

    def contributions(self, batch: MapBatch) -> Tensor:
        """b w 2k 1+w: what each map adds to each candidate's score."""
        dependent, candidate = self._weights(batch)
        pairs = pair_features(batch) * (dependent[..., None] + candidate.mT[:, None])
        return torch.cat([(self._root(batch) * dependent)[..., None], pairs], dim=-1)

    def _weights(self, batch: MapBatch) -> tuple[Tensor, Tensor]:
        vectors = self.get_buffer("vectors")[batch.words.long()]  # b w width
        return self.dependent(vectors), self.candidate(vectors)

    def _root(self, batch: MapBatch) -> Tensor:
        root = root_features(batch, self.ends)  # b k w 2
        return torch.cat([root[..., 0], root[..., 1]], dim=1).transpose(1, 2)  # b w 2k
