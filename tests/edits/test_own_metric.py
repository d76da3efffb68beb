"""Any metric, for ablation, importance, patches and paths alike; damage is what a head is worth."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.edits.importance import importance
from headscope.errors import BadInput
from headscope.tasks.task import labelled_task, language_task
from tests.circuits.test_many_prompts import PAIRS, WORDS
from tests.tiny import tiny_scope

pytestmark = pytest.mark.filterwarnings("ignore::headscope.errors.FewUnits")
NAMES = ("logit_difference", "logit", "probability", "probability_difference", "loss", "accuracy")


@pytest.fixture(scope="module")
def pairs() -> hs.circuits.Pairs:
    from headscope.circuits.patching.pairs import as_pairs

    return as_pairs(PAIRS[:4], None, None)


def by_hand(scope: hs.Scope, pairs: hs.circuits.Pairs, name: str) -> np.ndarray:
    """The metric of the clean prompts from plain forwards, one by one."""
    found: list[float] = []
    for pair in pairs.pairs:
        logits = scope.forward(scope.encode([pair.clean])).logits[0, -1].double()
        right, wrong = (scope.tokenizer.convert_tokens_to_ids(w) for w in (pair.answer, pair.wrong))
        p = logits.softmax(-1)
        found.append(float({
            "logit_difference": logits[right] - logits[wrong], "logit": logits[right],
            "probability": p[right], "probability_difference": p[right] - p[wrong],
            "loss": -p[right].log(), "accuracy": (logits[right] > logits[wrong]).double(),
        }[name]))  # fmt: skip
    return np.array(found)


@pytest.mark.parametrize("name", NAMES)
def test_a_registered_metric_is_what_plain_forwards_give(tiny_llama, pairs, name) -> None:
    found = hs.patch(tiny_llama, pairs, metric=name, progress=False)
    np.testing.assert_allclose(found.clean, by_hand(tiny_llama, pairs, name), atol=1e-5)
    without = hs.ablate(tiny_llama, pairs, metric=name, what=("heads",), progress=False)
    assert without.baseline == pytest.approx(by_hand(tiny_llama, pairs, name).mean(), abs=1e-5)
    edited = by_hand(tiny_llama.without(heads=[(1, 2)]), pairs, name).mean()
    worse = (without.baseline - edited) * (-1 if name == "loss" else 1)
    assert float(without.map("damage")[1, 2]) == pytest.approx(worse, abs=1e-5)


def test_a_function_of_logits_is_a_metric_everywhere(tiny_llama, pairs) -> None:
    house = tiny_llama.tokenizer.convert_tokens_to_ids("house")
    tree = tiny_llama.tokenizer.convert_tokens_to_ids("tree")

    def mine(logits: torch.Tensor) -> torch.Tensor:
        return logits[:, -1, house] - logits[:, -1, tree]

    def with_answers(logits: torch.Tensor, answers) -> torch.Tensor:
        rows = torch.arange(len(logits))
        here = logits[rows, answers.at]
        return here[rows, answers.right] - here[rows, answers.wrong]

    known = hs.patch(tiny_llama, pairs, method="both", progress=False)
    path = hs.circuits.path_patch(tiny_llama, pairs, sender=(0, 1))
    weighed = importance(tiny_llama, pairs, metric="logit_difference", progress=False)
    for metric in (mine, with_answers):
        own = hs.patch(tiny_llama, pairs, metric=metric, method="both", progress=False)
        for name, effects in known.effects.items():
            np.testing.assert_allclose(own.effects[name], effects, atol=1e-5)
        same = hs.circuits.path_patch(tiny_llama, pairs, metric=metric, sender=(0, 1))
        np.testing.assert_allclose(same.shares, path.shares, atol=1e-5)
        again = importance(tiny_llama, pairs, metric=metric, progress=False)
        np.testing.assert_allclose(again.size, weighed.size, atol=1e-6)
        one, other = (
            hs.ablate(tiny_llama, pairs, metric=m, what=("heads",), progress=False)
            for m in (metric, "logit_difference")
        )
        np.testing.assert_allclose(one.map("damage"), other.map("damage"), atol=1e-5)
    text = hs.patch(
        tiny_llama, pairs.pairs[0].clean, pairs.pairs[0].corrupted, mine,
        answers=("house", "tree"), progress=False,
    )  # fmt: skip
    np.testing.assert_allclose(text.effects["patch"][:, 0], known.effects["patch"][:, 0], atol=1e-5)


def test_damage_ranks_the_same_heads_first_for_a_loss_and_for_its_opposite(tiny_gpt2) -> None:
    def likely(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        real = targets != -100
        told = logits.log_softmax(-1).gather(2, targets.clamp(min=0)[..., None])[..., 0]
        return (told * real).sum(1) / real.sum(1)

    def unlikely(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return -likely(logits, targets)

    unlikely.higher_is_better = False
    task = language_task("words", WORDS, "next")
    good, bad = (
        hs.ablate(tiny_gpt2, task, metric=metric, what=("heads",), progress=False)
        for metric in (likely, unlikely)
    )
    np.testing.assert_allclose(good.map("damage"), bad.map("damage"), atol=1e-6)
    assert good.top(n=4)[["layer", "head"]].equals(bad.top(n=4)[["layer", "head"]])
    assert good.top(n=8)["value"].is_monotonic_decreasing
    worst = good.top(n=1).iloc[0]
    edited = hs.ablate(tiny_gpt2, task, metric="loss", what=("heads",), progress=False)
    assert worst["low"] <= worst["value"] <= worst["high"]
    assert float(edited.map("damage")[worst["layer"], worst["head"]]) > 0


def test_a_classifier_is_marked_by_the_probability_of_its_class() -> None:
    scope = tiny_scope("BertForSequenceClassification")
    task = labelled_task("sides", list(WORDS), None, ["LABEL_0", "LABEL_1"] * 3)
    found = hs.ablate(scope, task, metric="probability", what=("heads",), progress=False)
    wanted = [
        float(scope.forward(scope.encode([text])).logits[0].softmax(-1)[at % 2])
        for at, text in enumerate(WORDS)
    ]
    assert found.baseline == pytest.approx(np.mean(wanted), abs=1e-5)


def test_a_metric_that_cannot_be_used_is_refused(tiny_llama, pairs) -> None:
    with pytest.raises(BadInput, match="no metric 'rank'; choose one of logit_difference"):
        hs.patch(tiny_llama, pairs, metric="rank", progress=False)
    with pytest.raises(BadInput, match=r"gave .* for 4 rows .*not their mean"):
        hs.patch(tiny_llama, pairs, metric=lambda logits: logits.mean(), progress=False)
    with pytest.raises(BadInput, match="accuracy has no gradient"):
        hs.patch(tiny_llama, pairs, metric="accuracy", method="estimate", progress=False)
    with pytest.raises(BadInput, match="accuracy has no gradient"):
        importance(tiny_llama, pairs, metric="accuracy", progress=False)
    with pytest.raises(BadInput, match="answers beside the metric"):
        hs.patch(tiny_llama, WORDS[0], WORDS[0], lambda logits: logits[:, -1, 0], progress=False)
