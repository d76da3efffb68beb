"""Requests for one model queue, know their place, and can be taken back, also while they run."""

from __future__ import annotations

import threading
import time

import pytest

import headscope as hs
from headscope.reading.collecting.collector import Interrupted, interruptible
from headscope.surfaces.app.turns import Turns

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
        _until(lambda name=name: turns.before(name) is not None)
    assert [turns.before(f"ticket-{n}") for n in range(3)] == [0, 1, 2]
    assert turns.before("ticket-9") is None
    go.set()
    for thread in threads:
        thread.join()
    assert served == ["ticket-0", "ticket-1", "ticket-2"]
    assert turns.before("ticket-0") is None


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
        _until(lambda number=number: turns.before(f"ticket-{number}") is not None)
    assert turns.take_back("ticket-1")
    threads[1].join()
    assert found == ["ticket-1: The reading was cancelled."]
    assert turns.before("ticket-2") == 1
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
