"""What changes a model while it runs is seen by its own thread alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.tasks.task import language_task
from tests.contracts.test_families import state
from tests.tiny import tiny_scope

TEXT, OTHER = "the cat sat on the red", "the dog ran on the red"
ANSWERS = ("house", "tree")
TASK = language_task("text", [TEXT, OTHER], "next")
CHANGES: dict[str, Callable[[hs.Scope], Any]] = {
    "attribute": lambda scope: hs.attribute(scope, TEXT, target="house").total,
    "with_weightings": lambda scope: hs.circuits.with_weightings(scope, TEXT),
    "patch": lambda scope: hs.circuits.patch(scope, TEXT, OTHER, ANSWERS).table["value"],
    "path_patch": lambda scope: hs.circuits.path_patch(
        scope, TEXT, OTHER, ANSWERS, sender=(0, 1)
    ).table["value"],
    "ablate": lambda scope: hs.ablate(scope, TASK, progress=False).head_map,
    "importance": lambda scope: hs.importance(scope, TASK, progress=False).size,
    "copying": lambda scope: hs.circuits.copying(scope).table["value"],
}


@pytest.mark.parametrize("name", CHANGES)
def test_beside_a_thread_that_changes_the_model(name: str) -> None:
    """The user's own forwards, and readings, are what they are without it; so is its result."""
    scope = tiny_scope("LlamaForCausalLM", num_key_value_heads=2)
    change = CHANGES[name]
    ids = scope.encode([TEXT]).inputs["input_ids"]
    with torch.no_grad():
        logits = scope.model(ids).logits
    weights = scope.read(TEXT).attention.values
    expected, before = change(scope), state(scope.model)
    done, ran = threading.Event(), [0, 0]
    wrong: list[tuple[str, int, Any]] = []  # which pass, and how far it is off at each position

    def forwards() -> None:
        while not done.is_set():
            with torch.no_grad():
                ran[0] += 1
                off = (scope.model(ids).logits - logits).abs().amax(-1)
                if not bool((off < 1e-4).all()):
                    wrong.append(("forward", ran[0], off))

    def readings() -> None:
        while not done.is_set():
            ran[1] += 1
            off = abs(scope.read(TEXT).attention.values - weights)
            if not bool((off < 1e-5).all()):
                wrong.append(("reading", ran[1], off.max(axis=(0, 1))))

    threads = [threading.Thread(target=task) for task in (forwards, readings)]
    for thread in threads:
        thread.start()
    try:
        found = [change(scope) for _ in range(6)]
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not wrong and min(ran) > 0, (wrong, ran)
    for one in found:
        if not isinstance(one, hs.Reading):
            np.testing.assert_allclose(one, expected, atol=1e-5)
    assert state(scope.model) == before
