"""The other public functions that take a model: an answer or a sentence, and what is cheap, right.

Those whose refusals are written down for each family are in test_every_function.py.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import headscope as hs
from headscope.errors import HeadscopeError
from headscope.grounding.facts import facts
from tests.contracts.families import FAMILIES, Family
from tests.contracts.test_every_function import FUNCTIONS, OF_TEXT, TEXTS, first, prompt, scope_of

circuits = hs.circuits
DOCUMENTS = ["the cat sat on the red mat .", "a dog ran to the green house ."]
LINKS = [{"text": TEXTS[0], "pairs": [[[8, 11], [4, 7]]]}] * 8
WANTED = [("the cat sat on the red", "cat", "house")] * 4
NOTES = [f"Town {number} has a river. It has {number} bridges." for number in range(6)]
quiet: dict[str, Any] = {"progress": False}

MORE: dict[str, Callable[[hs.Scope], Any]] = {
    "find_heads": lambda s: hs.find_heads(s, LINKS, most_heads=1, **quiet),
    "named": lambda s: circuits.named(s, ["copy_suppression", "positional"], texts=TEXTS),
    "score_parts": lambda s: circuits.score_parts(s, TEXTS, first(s), 0, **quiet),
    "singular": lambda s: circuits.singular(s, first(s), 0, n=2),
    "trace": lambda s: circuits.trace(s, prompt(s)),
    "weighted": lambda s: circuits.weighted(s, prompt(s)),
    "ground": lambda s: hs.ground(s, "who sat ?", DOCUMENTS, "the cat", shuffles=1, most_heads=1),
    "neuron_view": lambda s: hs.neuron_view(s.read(prompt(s), keep=("q", "k"))).html(),
    "matrix_view": lambda s: hs.matrix_view(s.read(prompt(s))).html(),
    "text_view": lambda s: hs.text_view(s.read(prompt(s))).html(),
    "head_map": lambda s: hs.head_map(s.read(prompt(s))).html(),
    "head_scatter": lambda s: hs.head_scatter(s.read(prompt(s))).html(),
    "quick_labels": lambda s: hs.quick_labels(s.read(prompt(s))),
    "generate": lambda s: s.generate(prompt(s), 2),
    "fill": lambda s: s.fill(prompt(s)),
    "activations": lambda s: s.activations(prompt(s), ["stream.after", "attention.heads"]),
    "emphasise": lambda s: s.emphasise("cat", text=prompt(s), heads=[(1, 0)]).read(prompt(s)),
}
# seconds each: an encoder, decoders, and both together
HEAVY: dict[str, Callable[[hs.Scope], Any]] = {
    "probe.dependency": lambda s: hs.probe.dependency(s, "sample", minimum=5, **quiet),
    "probe.coreference": lambda s: hs.probe.coreference(s, "sample", **quiet),
    "probe.relations": lambda s: hs.probe.relations(s, "sample", shuffles=2, **quiet),
    "probe.features": lambda s: hs.probe.features(s, "sample", **quiet),
    "behaviours": lambda s: hs.behaviours(
        s, hs.atlas(s, TEXTS, top=1, per_decile=1, **quiet), positions=12
    ),
    "budget": lambda s: hs.budget(
        s, [" ".join(TEXTS)] * 16, sink=1, window=8, max_tokens=48, limit=4, needles=2,
        shares=[1.0], draws=1, **quiet,
    ),
    "emphasis.choose": lambda s: hs.emphasis.choose(s, WANTED, n=2, draws=1, **quiet),
    "fit_head_weights": lambda s: hs.fit_head_weights(s, facts(10), **quiet),
    "monitor.fit": lambda s: hs.monitor.fit(s, hs.monitor.injected(NOTES), shuffles=1, **quiet),
}  # fmt: skip
FEW = [one for one in FAMILIES if one.name in ("BERT", "GPT-2", "Llama", "Gemma 2", "T5")]
REST = [pytest.param(one, marks=pytest.mark.slow) for one in OF_TEXT if one not in FEW]


def ends(function: Callable[[hs.Scope], Any], scope: hs.Scope) -> Any:
    """The answer, or None for a refusal in a sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(scope)
    except HeadscopeError as refused:
        assert str(refused).endswith((".", "?")), refused
        return None


@pytest.mark.parametrize("family", [*FEW, *REST], ids=lambda one: one.name)
def test_a_function_answers_or_refuses_in_a_sentence(family: Family) -> None:
    scope = scope_of(family)
    answered = [name for name, one in MORE.items() if ends(one, scope) is not None]
    assert family.name == "Funnel" or {"matrix_view", "text_view", "head_map"} <= set(answered)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", HEAVY)
def test_a_heavy_function_answers_or_refuses_in_a_sentence(name: str) -> None:
    answered = [ends(HEAVY[name], scope_of(family)) is not None for family in FEW]
    # conversations are longer than tiny models read
    assert any(answered) or name in ("fit_head_weights", "monitor.fit")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_page_over_checkpoints_and_a_finetuned_model(tmp_path: Path) -> None:
    for family in FEW:
        scope, folder = scope_of(family), tmp_path / family.name
        for step in (0, 1):
            scope.model.save_pretrained(folder / f"step-{step}")
            scope.tokenizer.save_pretrained(folder / f"step-{step}")
        ends(lambda s, at=folder: hs.live_page(s, at / "live.html"), scope)
        ends(
            lambda s, at=folder: hs.over_checkpoints(at, TEXTS, statistics=["entropy"], **quiet),
            scope,
        )


@pytest.mark.parametrize("family", OF_TEXT, ids=lambda one: one.name)
def test_the_next_token_is_the_models_own(family: Family) -> None:
    scope = scope_of(family)
    found = ends(lambda s: s.next_token(TEXTS[0], n=1), scope)
    if found is None:
        return
    inputs = scope.accepted(scope.encode([TEXTS[0]]).inputs)
    if scope.encoder_decoder:
        return  # it starts with an empty answer
    with torch.no_grad():
        said = scope.model(**inputs).logits[0, -1].float().softmax(-1)
    assert found[0].probability == pytest.approx(float(said.max()), abs=1e-4)


@pytest.mark.parametrize("family", OF_TEXT, ids=lambda one: one.name)
def test_a_model_compared_with_itself_is_the_same(family: Family) -> None:
    found = ends(
        lambda s: hs.compare(s, s, TEXTS, statistics=["entropy"], labels=False, **quiet),
        scope_of(family),
    )
    if found is not None:
        values = found.table.groupby("measure")["value"]
        np.testing.assert_allclose(values.get_group("cosine"), 1, atol=1e-4)
        np.testing.assert_allclose(values.get_group("divergence"), 0, atol=1e-4)
        np.testing.assert_allclose(values.get_group("entropy"), 0, atol=1e-4)


@pytest.mark.parametrize("family", FEW, ids=lambda one: one.name)
def test_twice_in_one_process_gives_the_same_numbers(family: Family) -> None:
    scope = scope_of(family)
    for name, function in {**FUNCTIONS, **MORE}.items():
        one, other = (getattr(ends(function, scope), "table", None) for _ in range(2))
        if isinstance(one, pd.DataFrame):
            pd.testing.assert_frame_equal(one, other, atol=1e-6, obj=name)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("family", FEW, ids=lambda one: one.name)
def test_beside_a_thread_that_reads_all_numbers_are_the_same(family: Family) -> None:
    scope, every = scope_of(family), {**FUNCTIONS, **MORE}
    texts = TEXTS[:1] * (2 if scope.encoder_decoder else 1)
    alone = {name: getattr(ends(one, scope), "table", None) for name, one in every.items()}
    weights = scope.read(*texts).attention.values
    done, off = threading.Event(), []

    def readings() -> None:
        while not done.is_set():
            off.append(abs(scope.read(*texts).attention.values - weights).max())

    thread = threading.Thread(target=readings)
    thread.start()
    try:
        beside = {name: getattr(ends(one, scope), "table", None) for name, one in every.items()}
    finally:
        done.set()
        thread.join()
    assert off and max(off) < 1e-5
    for name, one in alone.items():
        if isinstance(one, pd.DataFrame):
            pd.testing.assert_frame_equal(one, beside[name], atol=1e-5, obj=name)
