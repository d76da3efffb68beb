"""The functions of the public interface, each by its name at the top level."""

from __future__ import annotations

import inspect

import pandas as pd
import pytest

import headscope as hs
from headscope.corpus.sample import OPINIONS
from headscope.tasks.files import read_task

LONG = {"limit", "output", "restart", "progress"}


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """A scope fine-tuned for a step on the shipped task."""
    from headscope.finetuning.training import Recipe
    from tests.tiny import tiny_scope

    folder = tmp_path_factory.mktemp("door") / "model"
    made = hs.finetune(tiny_scope("BertModel"), "sample", folder,
                       recipe=Recipe(epochs=1, batch_size=48), progress=False)  # fmt: skip
    return hs.load(made)


def test_patterns_is_a_function(tiny_bert):
    found = hs.patterns(tiny_bert, "sample", limit=4, progress=False)
    assert {"next_word", "previous_word"} <= set(found.measures)
    assert found.map("next_word").shape == (2, 4)
    assert list(found.labels.columns[:3]) == ["kind", "layer", "head"]


def test_explain_says_why_a_head_shows_a_pattern():
    reading = hs.load().read("I went to the store.", "At the store, I bought strawberries.")
    assert hs.explain(reading, 2, 2, "next_word").neurons is not None


def test_probes_take_paths_and_the_sample(tiny_bert):
    found = hs.probe.dependency(tiny_bert, "sample", minimum=5, max_tokens=64, progress=False)
    assert found.map("nsubj").shape == (2, 4)
    assert hs.probe.coreference(tiny_bert, "sample", progress=False).top("all", 2)["value"][0] >= 0
    assert len(hs.probe.relations(tiny_bert, "sample", shuffles=9, progress=False).table)
    assert len(hs.probe.features(tiny_bert, "sample", progress=False).measures) > 5


def test_a_scope_is_fine_tuned_from_its_own_weights(classifier):
    assert type(classifier.model).__name__ == "BertForSequenceClassification"
    assert set(classifier.model.config.id2label.values()) == {"praise", "blame"}


def test_ablate_and_importance_take_a_task(classifier, tiny_gpt2):
    task = read_task(OPINIONS)
    found = hs.ablate(classifier, task, draws=10, limit=8, progress=False)
    assert found.map().shape == (2, 4) and len(found.top(n=3)) == 3
    assert hs.importance(classifier, str(OPINIONS), limit=8, progress=False).map().min() >= 0
    assert hs.ablate(tiny_gpt2, "sample", draws=10, limit=2, progress=False).metric == "loss"


@pytest.mark.parametrize("name", ["patterns", "ablate", "importance", "finetune", "survey",
                                  "compare", "atlas"])  # fmt: skip
def test_every_long_function_takes_the_same_four(name):
    assert set(inspect.signature(getattr(hs, name)).parameters) >= LONG


def test_every_public_name_is_there():
    for name in hs.__all__:
        assert getattr(hs, name) is not None, name
    with pytest.raises(AttributeError):
        hs.nonsense  # noqa: B018


def test_a_result_shows_itself_in_a_notebook(tiny_bert):
    found = hs.survey(tiny_bert, ["the cat <b>sat</b>", "a dog"], progress=False)
    page = found._repr_html_()
    assert "<table" in page and "entropy" in page and isinstance(found.table, pd.DataFrame)
