"""Ctrl-C at any line of a captured pass: the model is left as it was found, to the bit."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

import headscope as hs
from headscope.edits.ablate import ablate
from headscope.interrupts import pending, remembered, safe_point, stopped_safely, uninterrupted
from headscope.tasks.questions import make_questions
from tests.finetuning.test_finetune import colours
from tests.runs.as_found import left_open, state_of
from tests.runs.moments import interrupted_at
from tests.tiny import tiny_scope

TASK = colours(4, 1)
TIMES = int(os.environ.get("HEADSCOPE_STOPS", "12"))


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
def test_a_capture_interrupted_at_any_moment_leaves_the_model_as_it_was(kind, one_thread):
    scope, work = kind()
    whole, before = work(), state_of(scope.model)
    _, lines = interrupted_at(None, work)
    stops = 0
    for _ in range(TIMES):
        stop, _ = interrupted_at(random.randint(1, lines), work)
        # the traceback is alive and holds every frame: nothing is put back by chance
        assert left_open() == [] and state_of(scope.model) == before
        stops += stop is not None
        del stop
    assert stops > TIMES / 2
    assert work() == whole and state_of(scope.model) == before


def test_ctrl_c_waits_for_a_safe_point_and_no_longer():
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), stopped_safely():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("held")
        safe_point()
        done.append("never")
    assert done == ["held"] and left_open() == []


def test_ctrl_c_twice_is_not_held_for_ever(monkeypatch):
    """A safe point that never comes: after a while the next one is raised at once."""
    monkeypatch.setattr("headscope.interrupts.PATIENCE", 600.0)
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), stopped_safely():
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
        done.append("both held")
        monkeypatch.setattr("headscope.interrupts.PATIENCE", 0.0)  # that while has gone by
        os.kill(os.getpid(), signal.SIGINT)
        done.append("never")
    assert done == ["both held"] and left_open() == []


class Closing:
    """Something with a destructor, in which Ctrl-C comes."""

    def __init__(self, done: list[str]) -> None:
        self.done = done

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        self.done.append("closed")


def test_ctrl_c_in_a_destructor_is_neither_dropped_nor_printed(monkeypatch):
    dropped: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", dropped.append)
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), remembered():
        Closing(done)
        time.sleep(60)
        done.append("never")
    assert done == ["closed"]
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        Closing(done)
        while not pending():
            time.sleep(0.001)
        done.append("held")
    assert done == ["closed", "closed", "held"]
    assert dropped == [] and left_open() == []


def test_a_safe_point_inside_a_step_lets_the_step_end():
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        with stopped_safely():
            os.kill(os.getpid(), signal.SIGINT)
            safe_point()
        done.append("whole")
    assert done == ["whole"] and left_open() == []


def test_whoever_takes_the_signal_amid_a_block_gets_it_and_gives_it_back():
    """As a server does that runs inside a command."""
    told: list[int] = []
    with pytest.raises(KeyboardInterrupt), remembered():
        ours = signal.signal(signal.SIGINT, lambda number, frame: told.append(number))
        with stopped_safely():
            os.kill(os.getpid(), signal.SIGINT)
            assert told == []
        assert told == [signal.SIGINT]
        signal.signal(signal.SIGINT, ours)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("not reached")
    assert left_open() == []
