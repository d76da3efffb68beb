"""Requests for one model queue, know their place, and can be taken back, also while they run."""

from __future__ import annotations

import threading
import time

import pytest

import headscope as hs
from headscope.patterns.labels import quick_table
from headscope.reading.collecting.collector import Interrupted, interruptible
from headscope.surfaces.app.turns import Queued, Turns

PATIENCE = 100  # seconds: whoever waits for a thread on a busy machine


def _until(holds) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_the_first_to_come_is_the_first_served_and_everyone_knows_their_place() -> None:
    turns, served, go = Turns(), [], threading.Event()

    def work(name: str) -> None:
        with turns.turn(name):
            with turns.turn():  # who is being served may ask again
                served.append(name)
            if name == "ticket-0":
                go.wait(PATIENCE)

    threads = []
    for name in ("ticket-0", "ticket-1", "ticket-2"):
        threads.append(threading.Thread(target=work, args=(name,)))
        threads[-1].start()
        _until(lambda name=name: turns.queued(name) is not None)
    assert [turns.queued(f"ticket-{n}") for n in range(3)] == [Queued(0), Queued(1), Queued(2)]
    assert turns.queued("ticket-9") is None
    go.set()
    for thread in threads:
        thread.join()
    assert served == ["ticket-0", "ticket-1", "ticket-2"]
    assert turns.queued("ticket-0") is None


def test_a_waiting_request_can_be_taken_back_and_the_next_moves_up() -> None:
    turns, go, found = Turns(), threading.Event(), []

    def work(name: str) -> None:
        try:
            with turns.turn(name):
                go.wait(PATIENCE)
                found.append(name)
        except Interrupted as error:
            found.append(f"{name}: {error}")

    threads = [threading.Thread(target=work, args=(f"ticket-{n}",)) for n in range(3)]
    for number, thread in enumerate(threads):
        thread.start()
        _until(lambda number=number: turns.queued(f"ticket-{number}") is not None)
    assert turns.take_back("ticket-1")
    threads[1].join()
    assert found == ["ticket-1: The reading was cancelled."]
    assert turns.queued("ticket-2") == Queued(1)
    go.set()
    threads[0].join()
    threads[2].join()
    assert not turns.take_back("ticket-1")


def test_a_reading_that_runs_ends_at_the_next_layer(tiny_gpt2: hs.Scope) -> None:
    stop = threading.Event()
    layers: list[int] = []

    def watch(call) -> None:
        layers.append(call.layer)
        stop.set()

    with interruptible(stop), pytest.raises(Interrupted, match="cancelled"):
        tiny_gpt2.edited(watch).read("the cat sat on the mat")
    assert layers == [0]
    assert tiny_gpt2.read("the cat").part().numbers == (0, 1)


def test_a_reading_tells_how_much_of_it_is_done_and_never_goes_back(tiny_gpt2: hs.Scope) -> None:
    turns, seen = Turns(), []

    def watch(call) -> None:
        seen.append(turns.queued("ticket"))

    with turns.turn("ticket"):
        assert turns.queued("ticket") == Queued(0), "nothing is known before the first layer"
        reading = tiny_gpt2.edited(watch).read("the cat sat on the mat, and the dog sat too")
        quick_table(reading)
        seen.append(turns.queued("ticket"))
    first, second, last = seen  # an edit is asked before the layer that it is part of is told
    assert first.done is None
    assert (second.done, second.left) == (0.0, None), "too early for a time"
    assert last.done == pytest.approx(0.65), "labels are the last 70 %: one of two layers is done"
    assert last.left > 0
    assert turns.queued("ticket") is None


def test_labels_of_a_long_text_can_be_stopped_too(tiny_gpt2: hs.Scope) -> None:
    reading, stop = tiny_gpt2.read("the cat sat on the mat"), threading.Event()

    def report(stage: str, done: float) -> None:
        if stage == "labels":
            stop.set()

    with interruptible(stop, report), pytest.raises(Interrupted, match="cancelled"):
        quick_table(reading)
