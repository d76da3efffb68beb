"""Word vectors for the probes: GloVe, or the model's own input embeddings made smaller."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from headscope.corpus.glove import load_glove
from headscope.models.limits import token_vectors

if TYPE_CHECKING:
    from headscope.reading import Scope

WIDTH = 100  # of the paper's GloVe vectors


def glove_vectors(
    vocabulary: Sequence[str], source: str | Path | None = None
) -> tuple[Tensor, str]:
    """vocabulary × width, and what to call them; the first word (none) is zero."""
    glove = load_glove(source, vocabulary)
    known = glove.known(vocabulary[1:])
    matrix = torch.from_numpy(glove(vocabulary))
    matrix[0] = 0
    return matrix, f"{glove.name}, {known:.0%} of the words known"


def embedding_vectors(scope: Scope, vocabulary: Sequence[str]) -> tuple[Tensor, str]:
    """The mean input embedding of each word's pieces, reduced to 100 principal components."""
    vectors = token_vectors(scope.model)
    assert vectors is not None  # a probe reads text
    table = vectors.float().cpu()
    encoded = scope.tokenizer(list(vocabulary[1:]), add_special_tokens=False)["input_ids"]
    pooled = torch.zeros(len(vocabulary), table.shape[1])
    for row, ids in enumerate(encoded, 1):
        if ids:
            pooled[row] = table[ids].mean(dim=0)
    centred = pooled[1:] - pooled[1:].mean(dim=0)
    width = min(WIDTH, *centred.shape)
    _, values, axes = torch.linalg.svd(centred, full_matrices=False)
    out = torch.zeros(len(vocabulary), width)
    # unit variance on the first axis keeps the learning rate right for any model
    scale = float(values[0]) / np.sqrt(len(centred)) or 1.0
    out[1:] = centred @ axes[:width].T / scale
    return out, f"the model's own input embeddings, {width} principal components"
