"""Heads named by their weights: copy suppression and successors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.circuits.logits.target import token_id
from headscope.circuits.weights.matrices import head_weights, vocabulary
from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.reading import Scope

Floats = NDArray[np.float64]
TOKENS = 512  # drawn from the vocabulary
LOWEST = 10
SEQUENCES = (
    ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    ("January", "February", "March", "April", "May", "June", "July", "August", "September",
     "October", "November", "December"),
    ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"),
)  # fmt: skip


def copy_suppression(scope: Scope, seed: int = 0) -> tuple[Floats, float]:
    """layers × heads: share of tokens that are among the ten their own head lowers most.

    McDougall et al. 2023, with plain embeddings. By chance: ten divided by the vocabulary's size.
    """
    into, out = vocabulary(scope)
    generator = torch.Generator().manual_seed(int(seed))
    chosen = torch.randperm(len(into), generator=generator)[:TOKENS]

    def share(moved: Tensor) -> float:
        written = moved @ out.T
        own = written[torch.arange(len(chosen)), chosen]
        return float(((written < own[:, None]).sum(1) < min(LOWEST, len(out) // 2)).float().mean())

    return _over_heads(scope, into[chosen], share), min(1.0, LOWEST / len(out))


def successor(scope: Scope) -> tuple[Floats, float]:
    """layers × heads: share of ordinals whose successor is what the head raises most among them.

    Gould et al. 2023, with plain embeddings: days, months, numerals; the ordinal itself is left
    out. By chance: one over the other ordinals of its sequence.
    """
    sequences = [ids for ids in (_known(scope, words) for words in SEQUENCES) if len(ids) > 2]
    if not sequences:
        raise BadInput(
            f"Successor heads of {scope.name} cannot be scored: its tokenizer splits "
            "every day, month and numeral into several tokens. Leave successor out, or "
            "choose another model."
        )
    into, out = vocabulary(scope)
    flat = torch.tensor([one for ids in sequences for one in ids])

    def share(moved: Tensor) -> float:
        right, start = 0, 0
        for ids in sequences:
            scores = moved[start : start + len(ids)] @ out[torch.tensor(ids)].T
            scores.fill_diagonal_(-torch.inf)
            right += int((scores.argmax(1)[:-1] == torch.arange(1, len(ids))).sum())
            start += len(ids)
        return right / sum(len(ids) - 1 for ids in sequences)

    chance = np.mean([1 / (len(ids) - 1) for ids in sequences for _ in ids[:-1]])
    return _over_heads(scope, into[flat], share), float(chance)


def _known(scope: Scope, words: tuple[str, ...]) -> list[int]:
    """The longest run of words that are one token each."""
    best: list[int] = []
    run: list[int] = []
    for word in words:
        try:
            run.append(token_id(scope, word))
        except BadInput:
            run = []
        best = max(best, run, key=len)
        run = list(run)
    return best


def _over_heads(scope: Scope, tokens: Tensor, share: object) -> Floats:
    weights = head_weights(scope)
    return np.array(
        [
            [share(tokens @ layer.v[head] @ layer.o[head]) for head in range(weights.heads)]  # pyright: ignore[reportCallIssue]
            for layer in weights.layers
        ]
    )
