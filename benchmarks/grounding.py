"""What grounding costs: ten documents of 200 tokens taken away one by one, and head weights.

    python benchmarks/grounding.py [MODEL] [--removals]

Budgets: leave-one-out ≤ 0.5 of ten plain passes, equal to them within 1e-4; sources by learned head
weights alone ≤ 1.3 forwards; a monitor's score ≤ 1.1 forwards. A whole `hs.ground` has no budget.
A plain pass is `model(input_ids)`, which computes every token's logits. A sparing one computes
those of the answer alone, as ours do; the forwards of all other rows are sparing too. Seconds are
processor time, medians of turns with the forward that they are compared with.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

import headscope as hs
from benchmarks._models import smollm2
from headscope.grounding.monitors.monitor import Monitor, MonitoredHead
from headscope.grounding.monitors.shares import Looks
from headscope.grounding.passes import AnswerPasses
from headscope.grounding.prompts import Prompt, prompt_of
from headscope.grounding.result import Grounding
from headscope.grounding.sources import sources_of, without
from headscope.reading.inputs.conversation import encoded, rendered_for
from headscope.runs.identity import model_fingerprint

DOCUMENTS, TOKENS, TURNS = 10, 200, 3
WORDS = "The clerk of the town wrote that the river had risen over the old stone bridge again . "


def plain(scope: hs.Scope, prompt: Prompt, sparing: bool = True) -> np.ndarray:
    options = {"logits_to_keep": prompt.said} if sparing else {}
    with torch.no_grad():
        logits = scope.model(input_ids=prompt.ids[None, :-1], use_cache=False, **options).logits[0]
    scores = logits[-prompt.said :].float().log_softmax(-1)
    said = prompt.ids[prompt.answer :, None]
    return scores.gather(-1, said)[:, 0].double().cpu().numpy()


def main(model: str, removals: bool = False) -> None:
    scope = hs.load(model)
    text = WORDS * 30
    ids = scope.tokenizer(text, add_special_tokens=False)["input_ids"]
    body = scope.tokenizer.decode(ids[: TOKENS - 8])
    documents = [("", f"Report {n}. {body}") for n in range(1, DOCUMENTS + 1)]
    question, answer = "What did the river do?", "The river rose over the old stone bridge."
    prompt = prompt_of(scope, question, documents, answer)
    sources = sources_of(documents)
    others = [prompt_of(scope, question, without(documents, [one]), answer) for one in sources]
    found, first = np.zeros(0), plain(scope, prompt)  # warm
    expected, passes = np.zeros(0), AnswerPasses(scope, prompt)
    computed: list[int] = []

    def leave_one_out() -> None:
        nonlocal found
        before = passes.computed
        found = passes.of(others)
        computed.append(passes.computed - before)

    def ten_sparing() -> None:
        nonlocal expected
        expected = np.stack([plain(scope, one) for one in others])

    def ten_plain() -> None:
        for one in others:
            plain(scope, one, sparing=False)

    def whole(**options: Any) -> Grounding:
        return hs.ground(scope, question, given, answer, weights=weights, **options)

    weights, given = evenly(scope), [text for _, text in documents]
    forward = partial(plain, scope, prompt)
    alone = partial(weights.by_source, scope, question, given, answer)
    least = partial(whole, exact=0, most_heads=0, shuffles=0)
    print(f"{scope.name}: {len(prompt.ids)} tokens, {DOCUMENTS} documents; costs in plain passes")
    times = [seconds(one) for one in (ten_sparing, leave_one_out, ten_plain)]
    say("leave-one-out, of ten plain passes", times[1] / times[2], 0.5)
    say("  of ten sparing passes", times[1] / times[0])
    tokens = sum(len(one.ids) - 1 for one in others)
    say("  tokens computed, of theirs", computed[0] / tokens)
    say("  of those of ten whole prompts", computed[0] / 10 / (len(prompt.ids) - 1))
    off = max(np.abs(found - expected).max(), np.abs(passes.log_probabilities - first).max())
    print(f"  largest difference {off:.0e} nats (≤ 1e-4)", flush=True)
    if removals:
        return
    say("sources by learned weights alone", ratio(alone, forward), 1.3)
    say("a monitor's score", monitored(scope, question, documents), 1.1)
    say("hs.ground(exact=0, most_heads=0, shuffles=0)", ratio(least, forward, 1))
    say("hs.ground, its default", ratio(whole, forward, 1))


def say(what: str, measured: float, most: float | None = None) -> None:
    print(f"{what:46} {measured:6.2f}", "" if most is None else f"(≤ {most})", flush=True)


def evenly(scope: hs.Scope) -> hs.HeadWeights:
    """Head weights that are all alike: what they say costs as much as what fitted ones say."""
    rows = ((1.0,) * scope.heads["decoder"],) * len(scope.layer_numbers["decoder"])
    fingerprint = model_fingerprint(scope.model)
    return hs.HeadWeights(scope.name, fingerprint, rows, 0, 0, 0, 0, 0, 1.0)


def ratio(ours: Callable[[], object], theirs: Callable[[], object], turns: int = TURNS) -> float:
    """The median of turns: what one costs over the other, right after it."""
    ratios: list[float] = []
    for _ in range(turns):
        before = seconds(theirs)
        ratios.append(seconds(ours) / before)
    return float(np.median(ratios))


def seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def monitored(scope: hs.Scope, question: str, documents: list[tuple[str, str]]) -> float:
    """A score by eight heads of eight layers over a forward, the median of turns."""
    layers = scope.layer_numbers["decoder"]
    some = layers[:: max(1, len(layers) // 8)][:8]
    heads = tuple(MonitoredHead("instruction", layer, 0, 0.5, 0.1, 1.0) for layer in some)
    fingerprint = model_fingerprint(scope.model)
    monitor = Monitor(scope.name, fingerprint, Looks(False, True), heads, 0, 0, 0, 0, 0, 0, 0)
    given = [{"title": title, "text": text} for title, text in documents]
    ids = encoded(scope, rendered_for(scope, question, given)).inputs["input_ids"]

    def forward() -> None:
        with torch.no_grad():
            scope.model(input_ids=ids, logits_to_keep=1, use_cache=False)

    return ratio(partial(monitor.score, scope, question, given), forward)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model", nargs="?", help="SmolLM2-135M-Instruct if left out")
    options.add_argument("--removals", action="store_true", help="only leave-one-out")
    given = options.parse_args()
    main(given.model or smollm2(), given.removals)
