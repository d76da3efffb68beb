"""From a batch of texts to the grids of its attention maps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from headscope.capture import Kind
from headscope.corpus.text.batches import TextBatch
from headscope.reading import Scope
from headscope.statistics.features.grid import PADDING, Grid, Side
from headscope.text.tokens import Tokens


def side(tokens: Sequence[Tokens], width: int, device: torch.device) -> Side:
    """The tokens of a batch, padded on the right to `width` positions."""
    batch = len(tokens)
    ids = np.zeros((batch, width), dtype=np.int64)
    classes = np.full((batch, width), PADDING, dtype=np.int8)
    segments = np.full((batch, width), PADDING, dtype=np.int8)
    words = np.full((batch, width), -1, dtype=np.int32)
    stops = np.zeros((batch, width), dtype=bool)
    for row, of_row in enumerate(tokens):
        count = len(of_row)
        ids[row, :count] = of_row.comparable_ids
        classes[row, :count] = of_row.classes
        segments[row, :count] = of_row.segments
        words[row, :count] = of_row.words
        stops[row, :count] = of_row.stops
    made = Side(*(torch.from_numpy(array) for array in (ids, classes, segments, words, stops)))
    return made.to(device)


def grids(scope: Scope, batch: TextBatch) -> dict[Kind, Grid]:
    """A grid for every kind of attention the scope's model has."""
    device = scope.device
    read = side(batch.tokens, batch.inputs.inputs["input_ids"].shape[1], device)
    written = read
    if batch.decoder_tokens is not None:
        width = batch.inputs.inputs["decoder_input_ids"].shape[1]
        written = side(batch.decoder_tokens, width, device)

    def grid(kind: Kind, query: Side, key: Side) -> Grid:
        return Grid(kind, kind == "decoder", query, key, batch.documents, model=scope.model)

    every = {
        "encoder": grid("encoder", read, read),
        "decoder": grid("decoder", written, written),
        "cross": grid("cross", written, read),
    }
    return {kind: every[kind] for kind in scope.kinds}
