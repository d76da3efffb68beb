"""Which queries and keys of a call are real tokens, and which are padding.

Three sources tell, the most reliable first: the two-dimensional mask the model was given, the dense
mask it made, the weights themselves.
"""

from __future__ import annotations

from typing import TypeGuard

import torch
from torch import Tensor

from headscope.capture.call import allowed

Valid = tuple[Tensor, Tensor]  # b t, b s


def from_padding(
    for_queries: Tensor | None, for_keys: Tensor | None, weights: Tensor, cross: bool
) -> Valid:
    """From the masks (b n, nonzero for real tokens) given to the model, else the weights."""
    batch, _, queries, keys = weights.shape
    real_queries, real_keys = from_weights(weights, cross)
    if _fits(for_keys, batch) and for_keys.shape[1] <= keys:
        # a cache of fixed size has empty slots behind these
        given_keys = (for_keys != 0).to(weights.device)
        real_keys = torch.nn.functional.pad(given_keys, (0, keys - for_keys.shape[1]))
    if _fits(for_queries, batch):
        given = for_queries.shape[1]
        if given == queries or (not cross and given == keys and queries < keys):
            real_queries = (for_queries != 0)[:, -queries:].to(weights.device)
    return real_queries, real_keys


def _fits(given: Tensor | None, batch: int) -> TypeGuard[Tensor]:
    return given is not None and given.dim() == 2 and given.shape[0] == batch


def from_mask(
    mask: Tensor | None,
    shape: tuple[int, int, int],  # b t s
    device: torch.device,
    cross: bool,
    for_keys: Tensor | None = None,
) -> Valid:
    """From a dense mask: a key is real when some query may look at it.

    In self-attention the queries are the last of the keys in use, so both are real or padding
    together; a cross mask does not tell about queries. If queries choose their keys, a real token
    may be chosen by none; then the mask that the model was given (b s, nonzero for real tokens)
    decides.
    """
    batch, queries, keys = shape
    if mask is None:
        every = torch.ones(batch, max(queries, keys), dtype=torch.bool, device=device)
        return every[:, :queries], every[:, :keys]
    real_keys = allowed(mask).any(dim=1).any(dim=1).expand(batch, keys)
    if _fits(for_keys, batch) and for_keys.shape[1] == keys:
        real_keys = real_keys | (for_keys != 0).to(real_keys.device)  # of a layer on another one
    if cross or queries > keys:
        return torch.ones(batch, queries, dtype=torch.bool, device=device), real_keys
    first = 0
    if queries < keys:  # with a cache of fixed size the positions behind the last query are empty
        used = int(real_keys.any(dim=0).nonzero().max()) + 1 if bool(real_keys.any()) else keys
        first = max(0, used - queries)
    return real_keys[:, first : first + queries], real_keys


def from_weights(weights: Tensor, cross: bool) -> Valid:
    """From the weights alone: a key is real when another query gives it weight."""
    batch, _, queries, keys = weights.shape
    looked_at = (weights.detach() > 0).any(dim=1)  # b t s
    if queries == keys and not cross and bool(looked_at.triu(1).any()):
        # some families let padding look at itself; in a causal map the last token may only do that
        looked_at &= ~torch.eye(queries, dtype=torch.bool, device=weights.device)
    real_keys = looked_at.any(dim=1)
    if cross or queries > keys:
        return torch.ones(batch, queries, dtype=torch.bool, device=weights.device), real_keys
    return real_keys[:, keys - queries :], real_keys
