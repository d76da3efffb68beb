"""The graph view: a trace and a circuit by one view, from results or their files; heads open."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

import headscope as hs
from headscope.cli import build
from headscope.errors import BadInput
from tests.browser.conftest import chromium, new_page, show
from tests.circuits.built import built_scope, induction_model
from tests.views.decoding import Container

__all__ = ["chromium", "new_page", "show"]
TEXT = "dog the cat sat the"
CIRCUIT = {
    "model": "m", "task": "names", "kind": "decoder", "layers": 3, "pairs": 8, "faithfulness": 0.9,
    "nodes": ["0-1", "MLP 1", "2-0 to 2-2", "embedding", "logits"],
    "edges": [
        {"source": "embedding", "target": "0-1", "through": "q", "score": 2.0, "exact": None},
        {"source": "embedding", "target": "0-1", "through": "k", "score": 1.0, "exact": None},
        {"source": "0-1", "target": "MLP 1", "through": "mlp", "score": 1.5, "exact": None},
        {"source": "0-1", "target": "2-0 to 2-2", "through": "v", "score": -1.0, "exact": None},
        {"source": "MLP 1", "target": "logits", "through": "logits", "score": 0.5, "exact": None},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def scope():
    return built_scope(induction_model(), "induction", bare=True)


@pytest.fixture(scope="module")
def traced(scope):
    return hs.circuits.trace(scope, TEXT, target="cat", most_heads=1, writers=1, depth=2)


def test_a_trace_its_json_and_its_file_are_one_graph(traced, tmp_path):
    traced.save(tmp_path / "trace.json")
    sources = (traced, traced.json(), tmp_path / "trace.json", str(tmp_path / "trace.json"))
    headers = [hs.graph_view(one).data.header["graph"] for one in sources]
    assert all(one == headers[0] for one in headers)
    by_name = {one["name"]: one for one in headers[0]["nodes"]}
    assert set(by_name) == {one.name for one in traced.nodes}
    assert len(headers[0]["links"]) == len(traced.steps)
    # layers rise from the words at the bottom to the answer on top
    heights = [by_name[name]["y"] for name in ("word 1", "0-0 at 2", "1-0 at 4", "answer")]
    assert heights == sorted(heights) and len(set(heights)) == 4


def test_a_circuit_has_its_strongest_edges_with_signs_and_inputs():
    graph = hs.graph_view(CIRCUIT).data.header["graph"]
    names = [one["name"] for one in graph["nodes"]]
    links = {(names[one["source"]], names[one["target"]]): one for one in graph["links"]}
    assert links["embedding", "0-1"]["through"] == "k q"
    assert links["embedding", "0-1"]["value"] == pytest.approx(3.0)
    assert links["0-1", "2-0 to 2-2"]["value"] == -1.0
    assert "5 of 5 edges" in graph["caption"] and "over 8 pairs" in graph["caption"]
    few = hs.graph_view(CIRCUIT, n=2).data.header["graph"]
    assert [one["name"] for one in few["nodes"]] == ["embedding", "0-1"]


def test_edges_and_their_file_are_drawn_alike(tiny_llama, tmp_path):
    found = hs.circuits.edges(
        tiny_llama, ["the cat sat on the"], ["the dog sat on the"], answers=[("mat", "house")],
        draws=0, steps=1, progress=False,
    )  # fmt: skip
    found.to_json(tmp_path / "e.json")
    own = hs.graph_view(found).data.header["graph"]
    assert own["nodes"] == hs.graph_view(tmp_path / "e.json").data.header["graph"]["nodes"]
    drawn = {one.get_text() for one in found.draw().axes[0].texts}
    assert {one["name"] for one in own["nodes"]} <= drawn


def test_other_json_and_a_reading_of_another_text_are_refused(scope, traced, tmp_path):
    (tmp_path / "other.json").write_text("[1]")
    with pytest.raises(BadInput, match="neither a trace nor a circuit"):
        hs.graph_view(tmp_path / "other.json")
    with pytest.raises(BadInput, match="cannot be read as the JSON"):
        hs.graph_view(tmp_path / "none.json")
    with pytest.raises(BadInput, match="shows a trace or a circuit"):
        hs.graph_view(3)
    with pytest.raises(BadInput, match="of different texts"):
        hs.graph_view(traced, reading=scope.read("the dog"))


def test_the_header_follows_the_schema(scope, traced):
    data = Container(hs.graph_view(traced, reading=scope.read(TEXT)).data.container())
    assert data.header["graph"]["title"] == "Who wrote “cat”"
    assert data.header["parts"]


@pytest.mark.browser
def test_a_click_on_a_node_opens_that_head_and_the_picture_is_saved_as_svg(scope, traced, show):
    page = show(hs.graph_view(traced, reading=scope.read(TEXT)))
    view = page.view()
    assert view.locator("[data-node]").count() == len(traced.nodes)
    assert view.locator("[data-link]").count() == len(traced.steps)
    view.locator('[data-node="word 1"]').hover()
    assert view.locator('[data-node="0-0 at 2"]:not(.out)').count() == 1
    with page.page.expect_download() as saved:
        view.locator("[data-control=svg]").click()
    root = ElementTree.fromstring(Path(saved.value.path()).read_text(encoding="utf-8"))
    texts = {one.text for one in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"0-0 at 2 “cat”", "answer “cat”"} <= texts
    arrows = list(root.iter("{http://www.w3.org/2000/svg}path"))
    assert len(arrows) == len(traced.steps)
    assert all(one.get("stroke", "").startswith("rgb") for one in arrows)
    view.locator('[data-node="0-0 at 2"]').click()
    state = page.state()
    assert (state["view"], state["layer"], state["head"], state["query"]) == ("head", 0, 0, 2)
    assert not page.errors


def test_the_command_writes_a_page_and_a_picture(tmp_path):
    for name in ("t.html", "t.svg", "t.json"):
        asked = ["trace", "The cat [MASK] on the mat.", "-o", str(tmp_path / name)]
        assert CliRunner().invoke(build(), asked).exit_code == 0
    assert "data-headscope" in (tmp_path / "t.html").read_text(encoding="utf-8")
    assert (tmp_path / "t.svg").read_text().lstrip().startswith("<?xml")
    assert json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))["links"]
