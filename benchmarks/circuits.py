"""Attribution and patching of a SmolLM2-shaped decoder, against plain forwards.

    python benchmarks/circuits.py [--tokens 128] [--threads 1]

Budgets: logit attribution of all heads of one text at most 2 forwards; one decomposed score of the
last layer at most 2, all keys of one query at most 3; the gradient estimate of
every head at every position at most 5 forwards; exact patches of every head at most half of as
many plain passes. A Llama of SmolLM2-135M's shape with random weights. Forwards are timed in
between, turn by turn and layer by layer, so that both see the same load.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from headscope.circuits.logits.parts import parts_of
from headscope.circuits.logits.solve import solve
from headscope.circuits.logits.target import Question
from headscope.circuits.patching.batch import PairBatch
from headscope.circuits.patching.donor import record
from headscope.circuits.patching.patch import _estimated, sites_of
from headscope.circuits.patching.swept import PatchSweep
from headscope.circuits.scores.decompose import written, written_rows
from headscope.circuits.scores.head_pass import head_pass
from headscope.circuits.scores.row import row_of
from headscope.circuits.scores.score import Read, score_of
from headscope.circuits.wiring import Wiring, wiring
from headscope.edits.answers import TOKENS_AT_ONCE
from headscope.reading import Scope
from headscope.tasks.answer_metrics import answer_metric
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
    asked = Question(inputs[0], tokens, tokens, given.tokens - 1, scope.model.lm_head)

    def forward() -> object:
        return scope.forward(inputs[0])

    def attribution() -> None:
        parts_of(found, solve(scope, found, [asked], [7]))

    forwards, share = _beside(forward, attribution, given.turns)
    print(f"forward of {given.tokens} tokens {forwards * 1e3:.0f} ms, {given.threads} thread(s)")
    print(f"attribution of all heads {share:.2f} forwards (budget 2)", flush=True)

    query, key = given.tokens - 1, given.tokens // 2
    for what, rows, budget in (("one score", torch.tensor([key, query]), 2), ("all keys", None, 3)):
        _, share = _beside(
            forward, partial(_decomposed, scope, inputs[0], rows, query), given.turns
        )
        print(f"{what} decomposed {share:.2f} forwards (budget {budget})", flush=True)

    read = Read("decoder", inputs[0], tokens, tokens)
    for what, relative, verify in (
        ("one score relative to the mean key", "mean", 0), ("the same with verify=1", "mean", 1)
    ):  # fmt: skip
        scored = partial(score_of, scope, read, LAYERS - 1, 0, query, key, relative, verify)
        _, share = _beside(forward, scored, given.turns)
        print(f"{what} {share:.2f} forwards (no budget)", flush=True)

    one = torch.tensor([given.tokens - 1])
    batch = PairBatch(
        scope, inputs[0], inputs[1], (tokens, tokens), torch.stack([one, one]), torch.tensor([7]),
        torch.tensor([8]), (0,), {}, answer_metric(None),
    )  # fmt: skip
    everywhere = sites_of(scope, found, "heads", range(given.tokens))

    def estimate() -> None:
        donor = record(scope, found, batch.clean)
        _estimated(scope, found, batch, donor, "heads", everywhere)

    _, share = _beside(forward, estimate, max(3, given.turns // 2))
    print(f"estimate of {len(everywhere):,} sites {share:.2f} forwards (budget 5)", flush=True)
    twin = Scope(_model(), None, "SmolLM2-shaped")  # the first one is watched while it is patched
    share = _exact(scope, found, batch, lambda: twin.forward(inputs[0]))
    print(f"exact patches of {LAYERS * HEADS} heads {share:.2f} of as many forwards (budget 0.5)")


@torch.enable_grad()
def _decomposed(
    scope: Scope, inputs: dict[str, torch.Tensor], rows: torch.Tensor | None, query: int
) -> None:
    passed = head_pass(scope, wiring(scope), inputs, "decoder", LAYERS - 1, rows)
    row = row_of(passed.call, 0, query)
    written(passed, row.q, torch.tensor([query]))
    if rows is None:
        written_rows(passed, row.scaling * (row.k @ row.q.detach()))
    else:
        written(passed, row.k[int(rows[0])])


@torch.no_grad()
def _exact(scope: Scope, found: Wiring, batch: PairBatch, forward: Callable[[], object]) -> float:
    """Time of every head's patch over that of as many forwards, one of them timed each layer."""
    copies = max(1, TOKENS_AT_ONCE["cpu"] // batch.corrupted["input_ids"].numel())
    donor = record(scope, found, batch.clean)
    spent, plain = 0.0, 0.0
    with PatchSweep(scope, found, batch, donor, "heads") as sweep:
        for layer in range(LAYERS):
            spent += _seconds(
                lambda at=layer: sweep.answers(at, [(head,) for head in range(HEADS)], copies)
            )
            plain += HEADS * _seconds(forward)
    return spent / plain


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


def _beside(
    forward: Callable[[], object], work: Callable[[], object], turns: int
) -> tuple[float, float]:
    """The median forward, and how many forwards the work takes: the median over turns."""
    work()
    pairs = [(_seconds(forward), _seconds(work)) for _ in range(turns)]
    return statistics.median(f for f, _ in pairs), statistics.median(w / f for f, w in pairs)


@torch.no_grad()
def _seconds(work: Callable[[], object]) -> float:
    clock = time.perf_counter()
    work()
    return time.perf_counter() - clock


if __name__ == "__main__":
    main()
