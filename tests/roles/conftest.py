"""Relations that are planted in a model, and documents of random words that show them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch

from tests.tiny import tiny_scope

WORDS = "cat dog mat tree house red green blue one two three store".split()


def documents(count: int, seed: int = 0, words: int = 8) -> list[dict[str, Any]]:
    """Shuffled words; every word is linked to the partner that a fixed random pairing gives it."""
    generator = np.random.default_rng(seed)
    partner = partners()
    made: list[dict[str, Any]] = []
    for _ in range(count):
        chosen = list(generator.permutation(WORDS)[:words])
        starts = np.cumsum([0, *(len(word) + 1 for word in chosen)])[:-1]
        span = {
            word: [int(at), int(at) + len(word)] for word, at in zip(chosen, starts, strict=True)
        }
        pairs = [[span[word], span[partner[word]]] for word in chosen if partner[word] in span]
        if pairs:
            made.append({"text": " ".join(chosen), "pairs": pairs})
    return made


def partners() -> dict[str, str]:
    """A cycle through all words, in random order."""
    order = list(np.random.default_rng(7).permutation(WORDS))
    return dict(zip(order, order[1:] + order[:1], strict=True))


def planted(layer: int, head: int, back: bool = False, strength: float = 0.6) -> Any:
    """A random BERT in which one head attends from every word to its partner (or back)."""
    scope = tiny_scope("BertModel", num_hidden_layers=3)
    ids_of = {word: scope.tokenizer.convert_tokens_to_ids(word) for word in WORDS}
    link = {ids_of[word]: ids_of[other] for word, other in partners().items()}
    seen: list[torch.Tensor] = []
    scope.model.register_forward_pre_hook(
        lambda module, args, kwargs: seen.append(kwargs["input_ids"]), with_kwargs=True
    )

    def edit(call: Any) -> torch.Tensor | None:
        if call.layer != layer:
            return None
        ids = seen[-1]
        wanted = torch.tensor([[link.get(int(one), -1) for one in row] for row in ids])
        linked = (wanted[:, :, None] == ids[:, None, :]).float()
        linked = linked.mT if back else linked
        weights = call.weights.clone()
        share = linked / linked.sum(-1, keepdim=True).clamp_min(1)
        kept = torch.where(linked.any(-1, keepdim=True), 1 - strength, 1.0)
        weights[:, head] = weights[:, head] * kept + strength * share
        return weights

    return dataclasses.replace(scope, edits=(edit,))
