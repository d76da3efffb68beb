"""Working ahead changes when things are made, never what comes out."""

import threading
import time

import pandas as pd
import pytest

import headscope as hs
from headscope.runs.work_ahead import ahead
from headscope.statistics.survey import engines, run


def test_items_come_in_order_and_at_most_so_many_are_made_early():
    made = []

    def stream():
        for number in range(6):
            made.append(number)
            yield number

    taken = []
    for item in ahead(stream(), most=1):
        time.sleep(0.02)
        # one in the queue, one in the thread's hand
        assert len(made) <= len(taken) + 1 + 2
        taken.append(item)
    assert taken == list(range(6))


def test_a_fault_is_raised_where_its_item_was_asked_for():
    def stream():
        yield 1
        raise ValueError("bad line")

    items = ahead(stream())
    assert next(items) == 1
    with pytest.raises(ValueError, match="bad line"):
        next(items)


def test_the_thread_ends_when_nobody_asks_any_more():
    def stream():
        number = 0
        while True:
            yield number
            number += 1

    items = ahead(stream())
    assert next(items) == 0
    items.close()
    for _ in range(1_000):
        if not any(thread.name == "headscope-ahead" for thread in threading.enumerate()):
            return
        time.sleep(0.05)
    raise AssertionError("the thread goes on")


def test_a_survey_that_prepares_ahead_gives_the_same_table(tiny_bert, monkeypatch):
    texts = [f"the cat sat on the {word} ." for word in "mat house tree store".split()] * 5

    def table(is_ahead):
        monkeypatch.setattr(
            run, "Local", lambda scope, settings: engines.Local(scope, settings, is_ahead)
        )
        return hs.survey(tiny_bert, texts, chunk=6, batch_tokens=24, progress=False).table

    pd.testing.assert_frame_equal(table(True), table(False), check_exact=True)
