"""Public functions of circuits and edits over the matrix: an answer, or a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headscope as hs
from headscope.errors import HeadscopeError
from headscope.tasks.task import Task, language_task
from tests.contracts.families import FAMILIES, Family
from tests.contracts.family_models import build
from tests.tiny import tiny_tokenizer

TEXT, OTHER, ANSWERS = "the cat sat on the red", "the dog ran on the red", ("house", "tree")


def task(scope: hs.Scope) -> Task:
    return language_task("text", [TEXT, OTHER], "next" if scope.causal else "masked")


FUNCTIONS: dict[str, Callable[[hs.Scope], Any]] = {
    "read": lambda scope: scope.read(TEXT),
    "ablate": lambda scope: hs.ablate(scope, task(scope), progress=False),
    "importance": lambda scope: hs.importance(scope, task(scope), progress=False),
    "attribute": lambda scope: hs.attribute(scope, TEXT, target="house"),
    "copying": lambda scope: hs.circuits.copying(scope),
    "composition": lambda scope: hs.circuits.composition(scope),
    "ov_tokens": lambda scope: hs.circuits.ov_tokens(scope, 0, 0),
    "inputs": lambda scope: hs.circuits.inputs(scope, TEXT, target="house", orders=2),
    "mixing": lambda scope: hs.circuits.mixing(scope, TEXT),
    "head_outputs": lambda scope: hs.circuits.head_outputs(scope, TEXT),
    "patch": lambda scope: hs.circuits.patch(scope, TEXT, OTHER, ANSWERS),
    "patch weights": lambda scope: hs.circuits.patch(scope, TEXT, OTHER, ANSWERS, what="weights"),
    "path_patch": lambda scope: hs.circuits.path_patch(scope, TEXT, OTHER, ANSWERS, sender=(0, 1)),
    "with_weightings": lambda scope: hs.circuits.with_weightings(scope, TEXT),
}


@pytest.mark.parametrize(
    "family", [one for one in FAMILIES if one.reads.startswith("text")], ids=lambda one: one.name
)
def test_a_function_answers_or_refuses_in_a_sentence(family: Family) -> None:
    scope = hs.load(build(family), tiny_tokenizer(), name=family.name)
    for function in FUNCTIONS.values():
        try:
            function(scope)
        except HeadscopeError as refused:
            assert str(refused).endswith(".")
