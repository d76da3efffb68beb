"""Requests that come at once: none takes what another one made, or waits for what it needs not."""

from __future__ import annotations

import html
import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from headscope.figures.style import drawing
from headscope.surfaces.app import Models
from headscope.surfaces.app import models as opening
from headscope.surfaces.app.request import ReadRequest, WeighRequest
from headscope.surfaces.app.session import session_over
from tests.surfaces.test_turns import PATIENCE, _until

TEXT = "the cat sat on the mat"
DESCRIPTION = re.compile(r"<dc:description>(.*?)</dc:description>", re.S)


@pytest.fixture
def session(tiny_llama):
    models = Models(["writer"], scopes={"writer": tiny_llama, "bundled": tiny_llama})
    return session_over(models)


def read(session, text: str = TEXT) -> str:
    return str(session.read(ReadRequest(model="writer", text=text)).header["id"])


def test_of_two_weightings_asked_for_at_once_both_are_kept(session):
    name = read(session)
    with ThreadPoolExecutor(2) as pool:
        with session.models.lock("writer"):
            asked = [
                pool.submit(session.weigh, WeighRequest(id=name, by=by)) for by in ("norm", "logit")
            ]
            _until(lambda: session.models.waiting("writer") == 3)
        for one in asked:
            one.result(PATIENCE)
    assert set(session.readings.get(name).reading.part().weightings) == {"norm", "logit"}


def drawn(session, name: str, **more: str) -> dict:
    """What a figure of one head says that it shows."""
    query = {"format": "svg", "view": "matrix", "kind": "decoder", "layer": "1", "head": "0"}
    found = DESCRIPTION.search(session.export(name, query | more)[0].decode())
    assert found is not None
    return json.loads(html.unescape(found[1]))


def test_a_figure_is_drawn_towards_the_answer_on_screen_whichever_was_asked_for_last(session):
    name = read(session)
    session.weigh(WeighRequest(id=name, by="logit", target="cat"))
    alone = drawn(session, name, weighting="logit", target="cat")
    session.weigh(WeighRequest(id=name, by="logit", target="dog"))
    assert drawn(session, name, weighting="logit", target="cat") == alone
    assert drawn(session, name, weighting="logit", target="dog") != alone


def test_two_readings_are_exported_by_weight_as_they_are_on_screen(session):
    name, other = read(session), read(session)
    by_weight = drawn(session, name, other=other)
    assert drawn(session, name, other=other, weighting="norm") == by_weight
    assert drawn(session, name, weighting="norm") != drawn(session, name)
    longer = read(session, f"{TEXT} and a dog ran")
    assert drawn(session, name, other=longer) == drawn(session, name)
    for view in ("head", "model", "text"):  # which show one reading, the other beside it
        assert drawn(session, name, other=other, view=view) == drawn(session, name, view=view)


def test_one_figure_is_drawn_at_a_time():
    begun = threading.Event()

    def draw() -> None:
        with drawing():
            begun.set()

    with ThreadPoolExecutor(1) as pool:
        with drawing():
            pool.submit(draw)
            assert not begun.wait(0.2), "matplotlib's parameters are those of the other figure now"
        assert begun.wait(PATIENCE)


def test_what_models_there_are_is_answered_while_one_is_busy(session):
    with ThreadPoolExecutor(1) as pool, session.models.lock("writer"):
        found = pool.submit(session.welcome)
        assert found.result(PATIENCE)["default"] == "writer"


def test_one_model_is_opened_at_a_time(monkeypatch):
    under_way, most = 0, 0

    def load(name, **options):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        time.sleep(0.05)  # long enough for the other to begin
        under_way -= 1
        return SimpleNamespace(name=name)

    monkeypatch.setattr(opening, "load", load)
    models = Models(["one", "two"])
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(models.scope, ["one", "two"]))
    assert [each.name for each in found] == ["one", "two"] and most == 1
