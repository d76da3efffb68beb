"""Names that changed go on working, and say what they are called now."""

from __future__ import annotations

import pytest

import headscope as hs
from headscope.finetuning.training import Recipe
from headscope.tasks import questions
from headscope.tasks.task import labelled_task

TASK = labelled_task("colours", ["red", "blue", "red"], ["a", "b", "c"], ["x", "y", "x"])


def test_an_old_attribute_gives_what_the_new_one_gives(tiny_bert: hs.Scope) -> None:
    with pytest.warns(DeprecationWarning, match="max_length is now called max_tokens"):
        assert tiny_bert.max_length == tiny_bert.max_tokens
    with pytest.warns(DeprecationWarning, match="rung is now called read_at"):
        assert tiny_bert.rung == tiny_bert.read_at
    with pytest.warns(DeprecationWarning, match="pairs is now called text_pairs"):
        assert TASK.pairs == TASK.text_pairs
    with pytest.warns(DeprecationWarning, match="take is now called select"):
        assert TASK.take([2, 1]).texts == TASK.select([2, 1]).texts == ("red", "blue")


def test_an_old_argument_is_understood(tiny_bert: hs.Scope) -> None:
    with pytest.warns(DeprecationWarning, match="max_length= is now called max_tokens="):
        batch = tiny_bert.encode(["the cat sat on the mat"], truncate=True, max_length=4)
    assert len(batch.tokens[0]) == 4
    with pytest.warns(DeprecationWarning, match="k= is now called n="):
        assert len(tiny_bert.fill("the [MASK] sat", k=2)[0]) == 2
    with pytest.warns(DeprecationWarning, match="max_length= is now called max_tokens="):
        recipe = Recipe(max_length=16)
    assert recipe == Recipe(max_tokens=16)


def test_an_old_class_and_function_are_the_new_ones() -> None:
    with pytest.warns(DeprecationWarning, match="Exam is now called Questions"):
        assert questions.Exam is questions.Questions
    with pytest.warns(DeprecationWarning, match="exam is now called make_questions"):
        assert questions.exam is questions.make_questions
