"""What grounding costs: ten documents of 200 tokens taken away one by one, and head weights.

    python benchmarks/grounding.py MODEL

Budgets: leave-one-out ≤ 0.5 of ten plain passes, equal to them within 1e-4; attention of all heads
to all sources, which learned head weights need, ≤ 1.3 forwards; a monitor's score ≤ 1.1 forwards,
measured in turns with the forward it rides on. Seconds are processor time.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import torch

import headscope as hs
from headscope.grounding.mass import HeadMass
from headscope.grounding.monitors.monitor import Monitor, MonitoredHead
from headscope.grounding.monitors.shares import Looks
from headscope.grounding.passes import AnswerPasses
from headscope.grounding.prompts import Prompt, prompt_of
from headscope.grounding.sources import sources_of, without
from headscope.reading.inputs.conversation import encoded, rendered_for
from headscope.runs.identity import model_fingerprint

DOCUMENTS, TOKENS, TURNS = 10, 200, 5
WORDS = "The clerk of the town wrote that the river had risen over the old stone bridge again . "


def plain(scope: hs.Scope, prompt: Prompt) -> np.ndarray:
    with torch.no_grad():
        logits = scope.model(input_ids=prompt.ids[None]).logits[0]
    scores = logits[list(prompt.predicting)].float().log_softmax(-1)
    said = prompt.ids[prompt.answer :, None]
    return scores.gather(-1, said)[:, 0].double().cpu().numpy()


def main(model: str) -> None:
    scope = hs.load(model)
    text = WORDS * 30
    ids = scope.tokenizer(text, add_special_tokens=False)["input_ids"]
    body = scope.tokenizer.decode(ids[: TOKENS - 8])
    documents = [("", f"Report {n}. {body}") for n in range(1, DOCUMENTS + 1)]
    question, answer = "What did the river do?", "The river rose over the old stone bridge."
    prompt = prompt_of(scope, question, documents, answer)
    sources = sources_of(documents)
    names = [one.name for one in sources]
    others = [prompt_of(scope, question, without(documents, [one]), answer) for one in sources]
    plain(scope, prompt)  # warm
    begun = time.process_time()
    first = plain(scope, prompt)
    one_pass = time.process_time() - begun
    begun = time.process_time()
    expected = np.stack([plain(scope, one) for one in others])
    ten = time.process_time() - begun
    begun = time.process_time()
    mass = HeadMass(scope, prompt.predicting, prompt.members(names), norms=False)
    passes = AnswerPasses(scope, prompt, mass)
    read = time.process_time() - begun
    begun = time.process_time()
    found = passes.of(others)
    taken = time.process_time() - begun
    tokens = sum(len(one.ids) for one in others)
    off = max(np.abs(found - expected).max(), np.abs(passes.log_probabilities - first).max())
    print(f"{scope.name}: {len(prompt.ids)} tokens, {DOCUMENTS} documents")
    print(f"ten plain passes                 {ten:8.2f} s")
    print(f"leave-one-out                    {taken:8.2f} s  ratio {taken / ten:.2f} (≤ 0.5)")
    print(f"  of ten passes over the prompt  {taken / one_pass / 10:8.2f}")
    print(f"  tokens computed, of plain      {(passes.computed - len(prompt.ids)) / tokens:8.2f}")
    print(f"  largest difference, nats       {off:8.1e}  (≤ 1e-4)")
    print(f"attention of all heads, forwards {read / one_pass:8.2f}  (≤ 1.3)")
    print(f"a monitor's score, forwards      {monitored(scope, question, documents):8.2f}  (≤ 1.1)")


def monitored(scope: hs.Scope, question: str, documents: list[tuple[str, str]]) -> float:
    """A score by eight heads of eight layers over a forward, the median of turns."""
    layers = scope.layer_numbers["decoder"]
    some = layers[:: max(1, len(layers) // 8)][:8]
    heads = tuple(MonitoredHead("instruction", layer, 0, 0.5, 0.1, 1.0) for layer in some)
    fingerprint = model_fingerprint(scope.model)
    monitor = Monitor(scope.name, fingerprint, Looks(False, True), heads, 0, 0, 0, 0, 0, 0, 0)
    given = [{"title": title, "text": text} for title, text in documents]
    ids = encoded(scope, rendered_for(scope, question, given)).inputs["input_ids"]
    ratios: list[float] = []
    for _ in range(TURNS):
        begun = time.process_time()
        with torch.no_grad():
            scope.model(input_ids=ids, logits_to_keep=1, use_cache=False)
        middle = time.process_time()
        monitor.score(scope, question, given)
        ratios.append((time.process_time() - middle) / (middle - begun))
    return float(np.median(ratios))


if __name__ == "__main__":
    main(sys.argv[1])
