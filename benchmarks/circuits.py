"""Attribution and patching of a SmolLM2-shaped decoder, against plain forwards.

    python benchmarks/circuits.py [--tokens 128] [--threads 1]

Budgets: logit attribution of all heads of one text at most 2 forwards; the gradient estimate of
every head at every position at most 5 forwards; exact patches of every head at most half of as
many plain passes. A Llama of SmolLM2-135M's shape with random weights. Every time is the median
of several turns, forwards taken in between, so that both see the same load.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from headscope.circuits.logits import attribute as attributing
from headscope.circuits.logits.target import Question
from headscope.circuits.patching.batch import PairBatch
from headscope.circuits.patching.donor import record
from headscope.circuits.patching.patch import _estimated, _exact, _places
from headscope.circuits.wiring import wiring
from headscope.reading import Scope
from headscope.text.tokens import Tokens

LAYERS, HEADS, WORDS = 30, 9, 49_152


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--tokens", type=int, default=128)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--turns", type=int, default=5)
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    scope = Scope(_model(), None, "SmolLM2-shaped")
    ids = torch.randint(0, WORDS, (2, given.tokens))
    inputs = [{"input_ids": row[None], "attention_mask": torch.ones_like(row)[None]} for row in ids]
    tokens = Tokens.plain([str(one) for one in range(given.tokens)])
    found = wiring(scope)
    forward = _timed(lambda: scope.forward(inputs[0]), given.turns)
    asked = Question(inputs[0], tokens, tokens, given.tokens - 1, scope.model.lm_head)

    def attribution() -> None:
        solved = attributing._solve(scope, found, asked, 7)
        attributing._parts(scope, found, solved)

    spent = _timed(attribution, given.turns)
    print(f"forward of {given.tokens} tokens {forward * 1e3:.0f} ms, {given.threads} thread(s)")
    print(f"attribution of all heads {spent / forward:.2f} forwards (budget 2)")

    one = torch.tensor([given.tokens - 1])
    batch = PairBatch(
        scope, inputs[0], inputs[1], (tokens, tokens), one, torch.tensor([7]), torch.tensor([8]),
        (0,),
    )  # fmt: skip
    everywhere = _places(scope, found, "heads", given.tokens, True)

    def estimate() -> None:
        donor = record(scope, found, batch.clean)
        _estimated(scope, found, batch, donor, "heads", everywhere)

    spent = _timed(estimate, max(2, given.turns // 2))
    print(f"estimate of {len(everywhere):,} places {spent / forward:.2f} forwards (budget 5)")
    donor = record(scope, found, batch.clean)
    heads = _places(scope, found, "heads", given.tokens, False)
    clock = time.perf_counter()
    _exact(scope, found, batch, donor, "heads", heads)
    spent = time.perf_counter() - clock
    plain = _timed(lambda: scope.forward(inputs[1]), given.turns)
    share = spent / (len(heads) * plain)
    print(f"exact patches of {len(heads)} heads {share:.2f} of as many forwards (budget 0.5)")


def _model() -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=WORDS,
            hidden_size=576,
            intermediate_size=1536,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=3,
            tie_word_embeddings=True,
        )
    ).eval()


def _timed(work: Callable[[], object], turns: int) -> float:
    work()
    spent: list[float] = []
    for _ in range(turns):
        clock = time.perf_counter()
        with torch.no_grad():
            work()
        spent.append(time.perf_counter() - clock)
    return statistics.median(spent)


if __name__ == "__main__":
    main()
