"""The probes: networks that score every candidate head of a word (Clark et al. 2019, section 5).

With attention alone p(head i | word j) ∝ exp Σ_k (w_k α_k[j, i] + u_k α_k[i, j]): one weight a head
and direction. For the root, attention to and from the opening and closing tokens is used, each with
one learned scale. With words the weights are a linear function of the two word vectors, which are
not trained; the root's is zero. The control has no attention, only distances and words.
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
    """b k w 2: the root's feature in every map, and in every transposed map."""
    size, maps, words, _ = batch.root.shape
    return batch.root.view(size, maps, words, 2, 2) @ ends


def pair_features(batch: MapBatch) -> Tensor:
    """b w 2k w: for each word and candidate, all maps and all transposed maps."""
    return torch.cat([batch.maps, batch.maps.mT], dim=1).transpose(1, 2)


def candidates(root: Tensor, words: Tensor, batch: MapBatch) -> Tensor:
    """Root and words side by side; a word itself and padding are excluded."""
    barred = ~batch.candidates[:, None, :] | torch.eye(
        words.shape[-1], dtype=torch.bool, device=words.device
    )
    return torch.cat([root[..., None], words.masked_fill(barred, NEVER)], dim=-1)


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
