"""Ctrl-C at any line of a captured pass: the model is as it was found, to the bit."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from typing import Any

import pytest

import headscope as hs
from headscope.capture import switch
from headscope.edits.ablate import ablate
from headscope.interrupts import remembered, safe_point, stopped_safely, uninterrupted, was_asked
from headscope.tasks.questions import make_questions
from tests.finetuning.test_finetune import colours
from tests.runs.as_found import left_open, state_of
from tests.runs.moments import interrupted_at
from tests.tiny import tiny_scope

TASK = colours(4, 1)
TIMES = int(os.environ.get("HEADSCOPE_STOPS", "12"))
SEED = int(os.environ.get("HEADSCOPE_SEED", "0"))


def reading() -> tuple[hs.Scope, Callable[[], Any]]:
    scope = tiny_scope("BertModel")
    scope.model.train()  # as `Trainer` leaves it
    return scope, lambda: scope.read("the cat sat", "on a mat").attention.values.tobytes()


def read_at_the_softmax() -> tuple[hs.Scope, Callable[[], Any]]:
    scope = tiny_scope("DebertaModel")
    return scope, lambda: scope.read("the cat sat on a mat").attention.values.tobytes()


def sweep() -> tuple[hs.Scope, Callable[[], Any]]:
    scope = tiny_scope("BertForSequenceClassification")
    asked = make_questions(scope, TASK, batch_size=4)
    return scope, lambda: ablate(scope, asked, progress=False).table.to_csv()


def attribution() -> tuple[hs.Scope, Callable[[], Any]]:
    scope = tiny_scope("GPT2LMHeadModel")
    return scope, lambda: hs.attribute(scope, "the cat sat on the").table.to_csv()


def generation() -> tuple[hs.Scope, Callable[[], Any]]:
    scope = tiny_scope("GPT2LMHeadModel")
    return scope, lambda: scope.generate("the cat", max_new_tokens=3).attention.values.tobytes()


@pytest.mark.parametrize(
    "kind", [reading, read_at_the_softmax, sweep, attribution, generation], ids=lambda k: k.__name__
)
def test_a_capture_interrupted_at_any_moment_leaves_the_model_as_it_was(kind):
    scope, work = kind()
    whole, before = work(), state_of(scope.model)
    _, lines = interrupted_at(None, work)
    print(f"HEADSCOPE_SEED={SEED}")
    chance, stops = random.Random(SEED), 0
    for _ in range(TIMES):
        stop, _ = interrupted_at(chance.randint(1, lines), work)
        # the traceback is alive and holds every frame: nothing is put back by chance
        assert left_open() == [] and state_of(scope.model) == before
        stops += stop is not None
        del stop
    assert stops > TIMES / 2
    assert work() == whole and state_of(scope.model) == before


@pytest.mark.parametrize("block", [uninterrupted, stopped_safely])
def test_a_block_interrupted_at_any_line_gives_the_signal_back(block):
    """Also while its handler is put there, which takes Python several lines."""

    def work() -> None:
        with block(), block():
            pass

    _, lines = interrupted_at(None, work)
    for moment in range(1, lines + 1):
        stop, _ = interrupted_at(moment, work)
        assert stop is not None and left_open() == [], moment


def test_ctrl_c_waits_for_a_safe_point_and_no_longer():
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), stopped_safely():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("held")
        safe_point()
        done.append("never")
    assert done == ["held"] and left_open() == []


def test_a_second_ctrl_c_is_raised_at_once():
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), stopped_safely():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("held")
        os.kill(os.getpid(), signal.SIGINT)
        done.append("never")
    assert done == ["held"] and left_open() == []


def test_a_switch_that_was_left_on_heals_on_the_next_use(tiny_bert, monkeypatch):
    """As a second Ctrl-C leaves it amid putting things back."""
    inputs = tiny_bert.encode(["the cat sat"]).inputs
    before, plain = state_of(tiny_bert.model), tiny_bert.model(**inputs)[0]
    for use in (lambda: tiny_bert.model(**inputs), lambda: tiny_bert.read("the cat sat")):
        with monkeypatch.context() as amid:
            amid.setattr(switch, "heal", lambda: None)
            tiny_bert.read("the cat sat")
        assert state_of(tiny_bert.model) != before
        use()
        assert state_of(tiny_bert.model) == before and left_open() == []
    assert tiny_bert.model(**inputs)[0].equal(plain)


def test_ctrl_c_that_python_drops_in_a_destructor_is_remembered(monkeypatch):
    class Closing:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    dropped: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", dropped.append)
    with remembered():
        Closing()
        assert was_asked() and len(dropped) == 1
    assert not was_asked() and left_open() == []


def test_a_safe_point_inside_a_step_lets_the_step_end():
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        with stopped_safely():
            os.kill(os.getpid(), signal.SIGINT)
            safe_point()
        done.append("whole")
    assert done == ["whole"] and left_open() == []


def test_a_server_inside_a_command_may_take_the_signal_and_give_it_back():
    told: list[int] = []
    with pytest.raises(KeyboardInterrupt), remembered():
        ours = signal.signal(signal.SIGINT, lambda number, frame: told.append(number))
        with stopped_safely():
            os.kill(os.getpid(), signal.SIGINT)
        assert told == [signal.SIGINT]
        signal.signal(signal.SIGINT, ours)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("not reached")
    assert left_open() == []
