"""Every function over every family of the matrix: an answer, or the refusal that is written down.

A family's refusals are pinned (`refused.py`), so that no bug of ours can pass for one; whatever
else a function raises is a failure.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.errors import HeadscopeError
from headscope.reading.ability import Ability
from headscope.tasks.task import Task, language_task
from tests.contracts.families import FAMILIES, Family
from tests.contracts.family_models import build
from tests.contracts.refused import REFUSED
from tests.tiny import tiny_tokenizer

ANSWERS = ("house", "tree")
TEXTS = [
    f"{one} on the red mat . he said that it was the {two} house . she ran to a {two} tree ."
    for one, two in (("the cat sat", "green"), ("a dog ran", "blue"), ("he", "red"))
]
OF_TEXT = [family for family in FAMILIES if family.reads.startswith("text")]


def scope_of(family: Family) -> hs.Scope:
    return scope_named(family.name)


@cache  # a function leaves the model as it found it, so a family's tests share one
def scope_named(name: str) -> hs.Scope:
    family = next(one for one in OF_TEXT if one.name == name)
    return hs.load(build(family), tiny_tokenizer(), name=name)


def task(scope: hs.Scope) -> Task:
    return language_task("text", TEXTS, "next" if scope.causal else "masked")


def prompt(scope: hs.Scope, animal: str = "cat") -> str:
    """A text that ends where a decoder goes on, or has the mask that an encoder fills in."""
    masked = "decoder" not in scope.kinds
    return f"the {animal} sat on the {'[MASK]' if masked else 'red'}"


def pair(scope: hs.Scope) -> tuple[str, str, tuple[str, str]]:
    return prompt(scope), prompt(scope, "dog"), ANSWERS


def first(scope: hs.Scope) -> int:
    """The first layer that attends: in hybrids it is not layer 0."""
    return scope.layer_numbers[scope.kinds[0]][0]


circuits = hs.circuits
FUNCTIONS: dict[str, Callable[[hs.Scope], Any]] = {
    "survey": lambda s: hs.survey(s, TEXTS, progress=False),
    "patterns": lambda s: hs.patterns(s, TEXTS, segments="windows", progress=False),
    "atlas": lambda s: hs.atlas(
        s, TEXTS, ["entropy"], top=1, per_decile=1, distances=False, progress=False
    ),
    "ablate": lambda s: hs.ablate(s, task(s), progress=False),
    "without": lambda s: s.without(layers=[first(s)]).read(prompt(s)),
    "importance": lambda s: hs.importance(s, task(s), progress=False),
    "head_outputs": lambda s: circuits.head_outputs(s, prompt(s)),
    "attribute": lambda s: hs.attribute(s, prompt(s), target="house"),
    "mixing": lambda s: circuits.mixing(s, prompt(s)),
    "score": lambda s: circuits.score(s, prompt(s), 1, 1, query=0, key=0),
    "with_weightings": lambda s: circuits.with_weightings(s, prompt(s)),
    "copying": lambda s: circuits.copying(s),
    "composition": lambda s: circuits.composition(s),
    "ov_tokens": lambda s: circuits.ov_tokens(s, 0, 0),
    "qk_tokens": lambda s: circuits.qk_tokens(s, 0, 0),
    "patch": lambda s: hs.patch(s, *pair(s), what="weights", progress=False),
    "patch(what='heads')": lambda s: hs.patch(s, *pair(s), progress=False),
    "path_patch": lambda s: circuits.path_patch(s, *pair(s), sender=(0, 1)),
    "edges": lambda s: circuits.edges(
        s, *pair(s)[:2], answers=ANSWERS, steps=1, draws=1, sizes=[4], progress=False
    ),
    "inputs": lambda s: circuits.inputs(
        s, prompt(s), target="house", methods=("gradient_input",), orders=2
    ),
    "read_batch": lambda s: s.read_batch(TEXTS),
    "explain": lambda s: hs.explain(
        s.read(TEXTS[0], keep=("q", "k")), first(s), 0, "previous_word", kind=s.kinds[0]
    ),
    "compare": lambda s: hs.compare(
        s, s, TEXTS[:2], statistics=["entropy"], labels=False, progress=False
    ),
    "head_view": lambda s: hs.head_view(s.read(prompt(s))).html(),
    "model_view": lambda s: hs.model_view(s.read(prompt(s))).data,
}


# refusals of what was asked for, or of a class of model, and not of a family
OTHERWISE = re.compile(
    "no output layer|is an encoder-decoder|pools them|were not kept|does not expose|"
    "computes its attention in code|does not sum to its logit|"
    "maps its embeddings to another width|not a plain sum"
)


@pytest.mark.parametrize("family", OF_TEXT, ids=lambda one: one.name)
def test_a_family_refuses_what_is_written_down_and_nothing_else(family: Family) -> None:
    found = circuits.capabilities(scope_of(family))
    refused = {name for name, refusal in found.items() if refusal}
    certain = {name for name in refused if not OTHERWISE.search(str(found[name]))}
    assert certain <= REFUSED.get(family.name, set()) <= refused
    assert all(refusal.endswith(".") for refusal in found.values() if refusal)


@pytest.mark.parametrize("family", OF_TEXT, ids=lambda one: one.name)
def test_a_function_answers_or_refuses_in_a_sentence(family: Family) -> None:
    scope = scope_of(family)
    able = circuits.capabilities(scope)
    for name, function in FUNCTIONS.items():
        # a second call in one process finds what the first one left: one model of each build
        for _ in range(2 if family.name in ("BERT", "GPT-2", "T5") else 1):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    function(scope)
            except HeadscopeError as refused:
                assert str(refused).endswith(".")
                # where a model lacks two things, either may be named
                assert str(refused) in able.values() or OTHERWISE.search(str(refused)), refused
            else:
                assert able.get(name) is None, f"{name} answers a model that it refuses"


@pytest.mark.filterwarnings("ignore::headscope.errors.PaddingShows")  # one text has no padding
@pytest.mark.parametrize("family", OF_TEXT, ids=lambda one: one.name)
def test_a_survey_of_one_text_is_its_readings_entropy(family: Family) -> None:
    scope = scope_of(family)
    if circuits.capabilities(scope)["survey"]:
        pytest.skip("is not surveyed")
    table = hs.survey(scope, TEXTS[:1], ["entropy"], progress=False).table
    reading = scope.read(*([TEXTS[0], TEXTS[0]] if scope.encoder_decoder else TEXTS[:1]))
    for kind, part in reading.parts.items():
        for layer in part.numbers:
            weights = part.weights(layer).astype(np.float64)
            own = -(weights * np.log(np.maximum(weights, 1e-300))).sum(-1)  # h t
            of_layer = table[(table.kind == kind) & (table.layer == layer)].sort_values("head")
            np.testing.assert_allclose(of_layer["value"], own.mean(1), atol=1e-4)


def test_what_the_trial_finds_is_asked_once_and_edits_play_no_part() -> None:
    tried: list[tuple[Any, ...]] = []
    ability = Ability(("f",), "tried", lambda scope: tried.append(scope.edits))
    scope = hs.load()
    ability.of(scope.without([(0, 0)]))
    assert ability.refusal(scope) is None and tried == [()]


def test_an_error_in_a_trial_is_a_refusal_with_the_models_name() -> None:
    def fails(scope: hs.Scope) -> None:
        raise KeyError("hidden_states")

    ability = Ability(("f",), "patched", fails)
    for _ in range(2):
        with pytest.raises(HeadscopeError, match="headscope-bundled cannot be patched"):
            ability.of(hs.load())


def test_an_error_in_a_call_is_never_turned_into_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    from headscope.circuits.patching import patch

    def broken(*given: Any, **named: Any) -> Any:
        raise KeyError("a bug")

    monkeypatch.setattr(patch, "_of_batch", broken)
    scope = hs.load()
    with pytest.raises(KeyError, match="a bug"):
        hs.patch(scope, *pair(scope), progress=False)
