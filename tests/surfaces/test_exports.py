"""Files that the app exports: both sides of a comparison, and the numbers of every view."""

from __future__ import annotations

import html
import io
import json
import re

import pandas as pd
import pytest
from PIL import Image

from headscope.surfaces.app import Models
from headscope.surfaces.app.request import ReadRequest
from headscope.surfaces.app.session import session_over

TEXT, OTHER = "the cat sat on the mat", "a red house on the hill"
DESCRIPTION = re.compile(r"<dc:description>(.*?)</dc:description>", re.S)
EXPORTED = ("svg", "png", "html", "csv")


@pytest.fixture(scope="module")
def session(tiny_llama):
    return session_over(Models(["writer"], scopes={"writer": tiny_llama, "bundled": tiny_llama}))


def read(session, text: str = TEXT) -> str:
    return str(session.read(ReadRequest(model="writer", text=text)).header["id"])


def test_an_export_of_two_readings_shows_both_sides(session):
    name, other = read(session), read(session, OTHER)
    query = {"view": "head", "kind": "decoder", "layer": "1", "head": "0", "heads": "0"}
    pair = query | {"other": other, "other_head": "0-1"}
    files = {kind: session.export(name, pair | {"format": kind}) for kind in EXPORTED}
    svg = files["svg"][0].decode()
    shown = [json.loads(html.unescape(one)) for one in DESCRIPTION.findall(svg)]
    assert [(one["layer"], one["heads"]) for one in shown] == [(1, [0]), (0, [1])]
    ids = re.findall(r'\bid="([^"]+)"', svg)
    assert len(ids) == len(set(ids)), "what one side clips by must not be the other's"
    alone = session.export(name, query | {"format": "png"})[0]
    width, single = (Image.open(io.BytesIO(each)).width for each in (files["png"][0], alone))
    assert width > 1.5 * single
    assert files["html"][0].count(b"<div data-headscope>") == 2
    table = pd.read_csv(io.BytesIO(files["csv"][0]))
    assert list(table["reading"].unique()) == [f"writer: {TEXT}", f"writer: {OTHER}"]
    assert set(zip(table["layer"], table["head"], strict=True)) == {(1, 0), (0, 1)}
    assert files["svg"][2] == "writer-head-1-0.svg"


@pytest.mark.parametrize("view", ["head", "text", "matrix", "neuron", "model", "prediction"])
def test_the_numbers_of_every_view_are_a_table(session, view):
    name = read(session)
    reading = session.readings.get(name).reading
    query = {"view": view, "kind": "decoder", "layer": "1", "head": "2", "heads": "2", "query": "3"}
    data, kind, file = session.export(name, query | {"format": "csv"})
    table = pd.read_csv(io.BytesIO(data))
    assert kind.startswith("text/csv") and file.startswith(f"writer-{view}") and len(table)
    weights = reading.part().head_weights(1, 2)
    if view in ("head", "matrix"):
        own = weights[table["query"], table["key"]]
        assert table["weight"].to_numpy() == pytest.approx(own, abs=1e-6)
        assert set(table["query"]) == ({3} if view == "head" else set(range(len(weights))))
    elif view == "neuron":
        neurons = table.filter(like="neuron ").sum(axis=1).to_numpy()
        assert neurons == pytest.approx(table["q·k"].to_numpy(), abs=1e-4)
        assert table["weight"].to_numpy() == pytest.approx(weights[3], abs=1e-6)
    elif view == "text":
        assert table["weight"].to_numpy() == pytest.approx(weights[3], abs=1e-6)
