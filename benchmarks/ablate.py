"""Every head of a BERT-base shape disabled in turn on 16×128 tokens, against full passes.

    python benchmarks/ablate.py [--all]

Budget: at most 0.5× of 144 full passes, with identical scores. A full pass is one forward of the
model with one head disabled (`scope.without`), and, as a second yardstick, one plain forward with
nothing disabled. Passes are timed between layers of the sweep, so that both see the same load;
without --all one full pass in six is run and the sum scaled.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import threading
import time

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification

from headscope.edits.ablate import single_edits
from headscope.edits.answers import answer, answer_each_plainly, stack_of
from headscope.edits.modes import mode as find_mode
from headscope.edits.sweep.sweep import Sweep
from headscope.reading.scope import Scope
from headscope.tasks.metrics import find_metric
from headscope.tasks.questions import Questions, class_losses, class_scores

BATCH, TOKENS, LAYERS, HEADS = 16, 128, 12, 12
BUDGET = 0.5


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--all", action="store_true", help="time all 144 full passes")
    options.add_argument("--copies", type=int, default=1, help="edits run side by side")
    options.add_argument("--threads", type=int, default=None)
    given = options.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    scope, questions = _model_and_questions()
    twin = Scope(copy.deepcopy(scope.model), None, "twin")  # passes that know nothing of the sweep
    edits = single_edits(range(LAYERS), HEADS, ("heads",))
    answer(twin, questions)  # warm
    sweep_s, full_s, plain_s, differences = 0.0, [], [], []
    stack = stack_of(scope, questions, "encoder")
    assert stack is not None
    inputs, _ = questions.batches[0]
    every = 1 if given.all else 6
    with _Memory() as memory:
        clock = time.perf_counter()
        with Sweep(scope, stack, inputs, lambda out, _: out.logits, find_mode("uniform")) as sweep:
            sweep_s += time.perf_counter() - clock
            for layer in range(LAYERS):
                here = [edit for edit in edits if edit.layer == layer]
                memory.watch = True
                clock = time.perf_counter()
                swept = sweep.answers(layer, [edit.heads for edit in here], given.copies).numpy()
                sweep_s += time.perf_counter() - clock
                memory.watch = False
                for i in range(0, HEADS, every):
                    clock = time.perf_counter()
                    full = answer_each_plainly(twin, questions, [here[i]])
                    full_s.append(time.perf_counter() - clock)
                    differences.append(float(np.abs(full[0] - swept[i]).max()))
                clock = time.perf_counter()
                answer(twin, questions)
                plain_s.append(time.perf_counter() - clock)
    scores = {"largest difference of a logit": max(differences)}
    full_total = statistics.mean(full_s) * LAYERS * HEADS
    plain_total = statistics.mean(plain_s) * LAYERS * HEADS
    print(
        f"BERT-base shape, {BATCH}×{TOKENS} tokens, {LAYERS * HEADS} heads, "
        f"{torch.get_num_threads()} threads, {given.copies} edits side by side"
    )
    print(
        f"sweep / {LAYERS * HEADS} passes with one head disabled  {sweep_s / full_total:.3f}  "
        f"(budget {BUDGET})"
    )
    print(f"sweep / {LAYERS * HEADS} plain passes                   {sweep_s / plain_total:.3f}")
    print(
        f"largest difference of a logit               {scores['largest difference of a logit']:.1e}"
    )
    print(f"peak memory of the sweep above the model's  {memory.peak / 2**20:.0f} MiB")
    assert max(differences) < 1e-4, "the shared way must give the same answers"


def _model_and_questions() -> tuple[Scope, Questions]:
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(num_labels=2)).eval()
    for name, parameter in model.named_parameters():
        if parameter.dim() == 2 and ("query" in name or "key" in name):
            torch.nn.init.normal_(parameter, std=0.1)  # attention far from uniform
    ids = torch.randint(1000, 30000, (BATCH, TOKENS))
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    labels = torch.zeros(BATCH, dtype=torch.long)
    questions = Questions(
        "random text", ((batch, labels),), class_scores, class_losses, labels.numpy(),
        find_metric("accuracy"),
    )  # fmt: skip
    return Scope(model, None, "BERT-base shape"), questions


class _Memory:
    """The most resident memory seen while watching, above what there was at the start."""

    def __init__(self) -> None:
        self.watch, self.peak, self._run = False, 0, True
        self._start = self._now()

    @staticmethod
    def _now() -> int:
        with open("/proc/self/statm") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * 4096

    def __enter__(self) -> _Memory:
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._run = False
        self._thread.join()

    def _look(self) -> None:
        while self._run:
            if self.watch:
                self.peak = max(self.peak, self._now() - self._start)
            time.sleep(0.005)


if __name__ == "__main__":
    main()
