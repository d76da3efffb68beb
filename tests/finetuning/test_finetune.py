"""Fine-tuning learns, gives an ordinary model folder, and survives being stopped."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.edits.answers import answer, score
from headscope.errors import BadInput, HeadscopeError
from headscope.finetuning import finetune as module
from headscope.finetuning.finetune import finetune
from headscope.finetuning.training import Recipe
from headscope.runs.run import only_writer
from headscope.tasks.baselines import baselines
from headscope.tasks.questions import make_questions
from headscope.tasks.task import labelled_task
from tests.tiny import tiny_model, tiny_tokenizer

QUICK = Recipe(epochs=4, batch_size=16, learning_rate=2e-3, seed=1)


def colours(count, seed):
    """Whether 'red' occurs: easy to learn, impossible for the commonest class."""
    generator = np.random.default_rng(seed)
    words = ["cat", "dog", "tree", "house", "store", "mat"]
    texts, labels = [], []
    for _ in range(count):
        picked = list(generator.choice(words, 4))
        red = bool(generator.integers(0, 2))
        picked[int(generator.integers(0, 4))] = "red" if red else "green"
        texts.append("the " + " ".join(picked))
        labels.append("yes" if red else "no")
    return labelled_task("colours", texts, None, labels)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source") / "bert"
    tiny_model("BertForPreTraining").save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def test_a_fine_tuned_model_beats_the_commonest_answer(source, tmp_path):
    train, dev = colours(160, 0), colours(80, 1)
    folder = finetune(source, train, tmp_path / "model", recipe=QUICK)
    scope = hs.load(folder)
    reached = score(scope, make_questions(scope, dev))
    assert reached > 0.9 > baselines(train, dev).majority
    assert baselines(train, dev).bag_of_words > 0.95
    about = json.loads((folder / "headscope_task.json").read_text())
    assert about["classes"] == ["no", "yes"] and about["recipe"]["seed"] == 1
    assert scope.model.config.id2label == {0: "no", 1: "yes"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]
    assert len({path.stat().st_mode for path in folder.iterdir()}) == 1


def test_a_scale_is_learnt_as_one_number(source, tmp_path):
    texts = colours(160, 0)
    task = labelled_task("scale", texts.texts, None, [f"{2.5 * n + 0.5}" for n in texts.labels])
    longer = dataclasses.replace(QUICK, epochs=12)
    scope = hs.load(finetune(source, task, tmp_path / "model", recipe=longer))
    assert scope.model.config.num_labels == 1
    assert score(scope, make_questions(scope, task)) > 0.8


def stop_at(step: int):
    def show(progress) -> None:
        if progress.done >= step:
            raise KeyboardInterrupt

    return show


def test_a_stopped_run_ends_in_the_same_model(source, tmp_path):
    task = colours(192, 0)
    recipe = Recipe(epochs=2, batch_size=16, learning_rate=1e-3, dropout=0.1)
    whole = hs.load(finetune(source, task, tmp_path / "whole", recipe=recipe))
    with pytest.raises(hs.Stopped, match="Run the same command to resume"):
        finetune(source, task, tmp_path / "part", recipe=recipe, progress=stop_at(11))
    assert (tmp_path / "part.partial" / "training.npz").exists()
    assert not (tmp_path / "part").exists()
    seen = []
    resumed = hs.load(
        finetune(source, task, tmp_path / "part", recipe=recipe, progress=seen.append)
    )
    assert seen[0].done > 11
    asked = make_questions(whole, task)
    np.testing.assert_array_equal(answer(whole, asked), answer(resumed, asked))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part", "whole"]


def test_going_on_with_another_recipe_model_or_data_is_refused(source, tmp_path):
    def go(model, task, recipe=Recipe(epochs=1, batch_size=4), **more):  # noqa: B008
        finetune(model, task, tmp_path / "m", recipe=recipe, **more)

    task = colours(64, 0)
    other = tiny_model("BertForPreTraining")
    torch.nn.init.normal_(other.bert.encoder.layer[0].output.dense.weight)
    other.save_pretrained(tmp_path / "other")
    tiny_tokenizer().save_pretrained(tmp_path / "other")
    with pytest.raises(hs.Stopped):
        go(source, task, progress=stop_at(1))
    for model, data, recipe, what in (
        (source, colours(64, 1), Recipe(epochs=1, batch_size=4), "task"),
        (tmp_path / "other", task, Recipe(epochs=1, batch_size=4), "model"),
        (source, task, Recipe(epochs=2, batch_size=4), "recipe"),
    ):
        with pytest.raises(BadInput, match=f"started with another {what};.*--restart"):
            go(model, data, recipe)
    with (
        only_writer(tmp_path / "m", folder=True),
        pytest.raises(HeadscopeError, match="Another run is writing"),
    ):
        go(source, task)
    go(tmp_path / "other", task, restart=True)


def test_a_loss_that_is_not_a_number_ends_the_training(source, tmp_path):
    recipe = dataclasses.replace(QUICK, learning_rate=1e30)
    with pytest.raises(HeadscopeError, match="loss was NaN by step"):
        finetune(source, colours(96, 0), tmp_path / "m", recipe=recipe)
    assert not (tmp_path / "m").exists()


def test_labels_that_are_not_numbers_are_refused():
    with pytest.raises(BadInput, match="the label 'nan' is not a finite number"):
        labelled_task("scale", ["a", "b", "c"], None, ["1.5", "nan", "2.5"], kind="regression")


def test_other_files_in_the_folder_are_not_lost(source, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BadInput, match="holds other files"):
        finetune(source, colours(8, 0), tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_folder_that_holds_a_model_is_not_overwritten(source):
    with pytest.raises(BadInput, match="already holds a model"):
        finetune(source, colours(8, 0), source)


def test_from_scratch_forgets_the_pretrained_weights(source):
    task = colours(8, 0)
    kept, _ = module.new_classifier(source, task, Recipe())
    fresh, _ = module.new_classifier(source, task, Recipe(from_scratch=True))
    again, _ = module.new_classifier(source, task, Recipe(from_scratch=True))
    name = "bert.encoder.layer.0.attention.self.query.weight"
    pretrained = hs.load(source).model.state_dict()[name]
    assert torch.equal(kept.state_dict()[name], pretrained)
    assert not torch.equal(fresh.state_dict()[name], pretrained)
    assert torch.equal(fresh.state_dict()[name], again.state_dict()[name])


def test_training_is_in_single_precision_whatever_the_model_was_saved_in():
    for recipe in (Recipe(), Recipe(from_scratch=True)):  # the bundled model is saved in half
        model, _ = module.new_classifier(None, colours(4, 0), recipe)
        assert {p.dtype for p in model.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["a", "b", "c"], r"knows 2 classes \(no, yes\) and t has 3 classes \(a, b, c\)"),
        (["1.5", "2", "3"], "one number"),
    ],
)
def test_labels_that_do_not_fit_the_head_are_refused(source, tmp_path, labels, sentence):
    scope = hs.load(finetune(source, colours(8, 0), tmp_path / "m", recipe=Recipe(epochs=1)))
    task = labelled_task("t", ["a", "b", "c"], None, labels)
    with pytest.raises(BadInput, match=sentence):
        make_questions(scope, task)


def test_classes_are_matched_with_the_head_s_by_name(source, tmp_path):
    """A file may lack a class, or a task number them otherwise; answers are marked alike."""
    task = colours(40, 3)
    scope = hs.load(finetune(source, task, tmp_path / "m", recipe=QUICK))
    turned = labelled_task(
        "t", task.texts, None, [task.classes[n] for n in task.labels], classes=task.classes[::-1]
    )
    assert score(scope, make_questions(scope, turned)) == score(scope, make_questions(scope, task))
    chosen = np.flatnonzero(task.labels == 1)
    alone = labelled_task("t", [task.texts[i] for i in chosen], None, ["yes"] * len(chosen))
    assert score(scope, make_questions(scope, alone)) == score(
        scope, make_questions(scope, task.select(chosen))
    )


def test_a_model_without_a_head_for_the_task_is_refused(tiny_bert):
    with pytest.raises(BadInput, match="no output layer of classes"):
        make_questions(tiny_bert, colours(4, 0))


def test_masked_words_need_a_mask_token(tiny_gpt2):
    from headscope.tasks.task import language_task

    tokenizer = tiny_gpt2.tokenizer.__class__(tokenizer_object=tiny_gpt2.tokenizer._tokenizer)
    scope = hs.Scope(tiny_gpt2.model, tokenizer, "no mask")
    tokenizer.pad_token = "[PAD]"
    with pytest.raises(BadInput, match="no mask token"):
        make_questions(scope, language_task("t", ["the cat"], "masked"))
