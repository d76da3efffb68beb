"""Repeated random tokens: text in which only copying helps, to find the heads that copy."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from headscope.capture import Kind
from headscope.models.limits import embedded_tokens
from headscope.reading import Scope
from headscope.statistics.features.grid import Grid, side
from headscope.text.of_ids import tokens_of_ids
from headscope.text.tokenise import Batch

SEQUENCES = 10
PERIOD = 25  # random tokens …
TIMES = 4  # … that many times over, after a begin-of-text token


def repeated_batch(scope: Scope, seed: int) -> tuple[Batch, dict[Kind, Grid]]:
    """Sequences of a begin-of-text token and random tokens repeated, and their grid."""
    chance = np.random.default_rng(seed)
    special = set(scope.tokenizer.all_special_ids)
    known = min(len(scope.tokenizer), embedded_tokens(scope.model) or len(scope.tokenizer))
    ordinary = [token for token in range(known) if token not in special]
    period, times = _fitting(scope, len(ordinary))
    sequences: list[list[int]] = []
    for _ in range(SEQUENCES):
        once = chance.choice(ordinary, size=period, replace=len(ordinary) < period).tolist()
        sequences.append([_start(scope), *(once * times)])
    ids = torch.tensor(sequences, device=scope.device)
    tokens = [tokens_of_ids(scope.tokenizer, row) for row in sequences]
    read = side(tokens, ids.shape[1], scope.device)
    # random tokens that are spelled like special ones still count as words
    read = dataclasses.replace(read, ids=ids)
    numbers = np.arange(SEQUENCES, dtype=np.int64)
    grid = Grid("decoder", True, read, read, numbers, period=period, model=scope.model)
    return Batch({"input_ids": ids, "attention_mask": torch.ones_like(ids)}, tokens), {
        "decoder": grid
    }


def _fitting(scope: Scope, vocabulary: int) -> tuple[int, int]:
    """The usual sizes, smaller for models with a short context or a small vocabulary."""
    room = (scope.max_tokens or 10**9) - 1
    period = min(PERIOD, vocabulary, max(2, room // 2))
    return period, max(2, min(TIMES, room // period))


def _start(scope: Scope) -> int:
    for name in ("bos_token_id", "cls_token_id", "eos_token_id"):
        token = getattr(scope.tokenizer, name, None)
        if token is not None:
            return int(token)
    return 0
