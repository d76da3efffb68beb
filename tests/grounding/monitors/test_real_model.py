"""On a real model both builders make examples that a few heads tell apart, and shuffled ones not.

`pytest tests/grounding/monitors/test_real_model.py -m slow -s` prints the AUROCs of the docs.
"""

from __future__ import annotations

import dataclasses
import random

import pytest

import headscope as hs
from headscope.grounding.facts import facts

BUILDERS = {"context kept": hs.monitor.context_kept, "injected": hs.monitor.injected}


def documents(count: int) -> list[str]:
    """Two invented people each, a sentence a person."""
    sentences = [text for one in facts(count, seed=7) for text in one.documents[:2]]
    return [f"{one} {two}" for one, two in zip(sentences[::2], sentences[1::2], strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILDERS)
def test_a_monitor_beats_its_null_and_shuffled_labels_do_not(smollm2: hs.Scope, name: str) -> None:
    examples = BUILDERS[name](documents(20))
    found = hs.monitor.fit(smollm2, examples, progress=False)
    print(f"\n{name}: {found}")
    assert found.auroc > found.null and found.p < 0.05
    chance = random.Random(0)
    swapped = [
        dataclasses.replace(one, label=one.label != flip)
        for flip, pair in ((chance.random() < 0.5, examples[at : at + 2]) for at in
                           range(0, len(examples), 2))
        for one in pair
    ]  # fmt: skip
    shuffled = hs.monitor.fit(smollm2, swapped, progress=False)
    print(f"{name}, labels shuffled: {shuffled}")
    assert shuffled.p > 0.01
