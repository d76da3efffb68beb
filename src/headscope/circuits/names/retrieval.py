"""Retrieval heads: they look at the needle's own token while the model repeats it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.capture import Call
from headscope.capture.softmax import weight_rows
from headscope.errors import BadInput
from headscope.reading.predict import word_logits

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.reading import Scope

Floats = NDArray[np.float64]
CITIES = ("Paris", "London", "Rome", "Berlin", "Madrid", "Vienna", "Dublin", "Prague")
THINGS = ("apple", "river", "stone", "bread", "tiger", "window", "silver", "garden")
FILLER = (
    "The weather was mild and the streets were quiet.",
    "People walked home slowly after a long day of work.",
    "A train passed the bridge while the sun went down.",
    "The shop on the corner sells tea, paper and lamps.",
)


def needles(n: int, sentences: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """Text before the needle's word, text from there to the position that asks, the word."""
    luck = random.Random(seed)
    for _ in range(n):
        city, thing = luck.choice(CITIES), luck.choice(THINGS)
        hay = [luck.choice(FILLER) for _ in range(sentences)]
        at = luck.randrange(sentences)
        needle = f"The secret of {city} is the"
        before = " ".join([*hay[:at], needle])
        after = " ".join([".", *hay[at:], needle])
        yield before, after.replace(". ", ". ", 1), f" {thing}"


def retrieval(scope: Scope, n: int = 16, sentences: int = 8, seed: int = 0) -> tuple[Floats, float]:
    """layers × heads: how often a head's strongest key is the needle's word when it is asked for.

    Wu et al. 2024. By chance: one token of the text.
    """
    _check(scope)
    hits: list[Floats] = []
    lengths: list[int] = []
    for ids, position in _encoded(scope, n, sentences, seed):
        found: dict[int, Floats] = {}
        last = torch.tensor([ids.shape[1] - 1], device=ids.device)

        def look(call: Call, found: dict[int, Floats] = found, last: Tensor = last) -> None:
            strongest = weight_rows(call, last)[0, :, 0].argmax(-1)
            found[call.layer] = strongest.cpu().numpy()

        scope.forward({"input_ids": ids, "attention_mask": torch.ones_like(ids)}, look, lazy=True)
        right = np.full((scope.layers["decoder"], scope.heads["decoder"]), np.nan)
        for layer, strongest in found.items():
            right[layer] = strongest == position
        hits.append(right)
        lengths.append(ids.shape[1])
    return np.mean(hits, axis=0), float(np.mean([1 / length for length in lengths]))


def retrieval_test(
    scope: Scope, heads: list[tuple[int, int]], n: int = 16, draws: int = 5, seed: int = 0
) -> tuple[float, float, float]:
    """Mean log-probability of the needle: with all heads, without these, without as many others."""
    _check(scope)
    whole = _log_probability(scope, n, seed)
    without = _log_probability(scope.without(heads=heads, mode="zero"), n, seed)
    luck = random.Random(seed)
    layers, count = scope.layer_numbers["decoder"], scope.heads["decoder"]
    others = [(a, b) for a in layers for b in range(count) if (a, b) not in set(heads)]
    drawn = [
        _log_probability(scope.without(heads=luck.sample(others, len(heads)), mode="zero"), n, seed)
        for _ in range(draws)
    ]
    return whole, without, float(np.mean(drawn))


def _check(scope: Scope) -> None:
    if "decoder" not in scope.kinds or scope.encoder_decoder:
        raise BadInput(
            f"Retrieval heads are found in models that continue text; {scope.name} does not."
        )


def _encoded(scope: Scope, n: int, sentences: int, seed: int) -> Iterator[tuple[Tensor, int]]:
    """1 t and the needle's position; each text ends where the needle's word is asked for."""
    for before, after, word in needles(n, sentences, seed):
        head, needle, tail = (
            scope.tokenizer(text, add_special_tokens=special)["input_ids"]
            for text, special in ((before, True), (word, False), (after, False))
        )
        ids = torch.tensor([[*head, needle[0], *needle[1:], *tail]], device=scope.device)
        yield ids, len(head)


def _log_probability(scope: Scope, n: int, seed: int) -> float:
    found: list[float] = []
    for ids, position in _encoded(scope, n, 8, seed):
        output = scope.forward({"input_ids": ids, "attention_mask": torch.ones_like(ids)})
        logits = word_logits(scope, output)[0, -1].log_softmax(-1)
        found.append(float(logits[ids[0, position]]))
    return float(np.mean(found))
