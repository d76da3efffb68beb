"""Keyboard and screen reader: axe finds nothing, focus is held and given back, cells speak."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import headscope as hs
from headscope.figures import layer_head_map
from headscope.studies.report import Report
from headscope.views import discover
from tests.browser.looking import until
from tests.browser.test_app import address

__all__ = ["address"]
pytestmark = pytest.mark.browser
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")
SPOKEN = "m.root.querySelector('[aria-live]').textContent"
# Frames are looked at by themselves.
RUN = """async () => {
  const found = await axe.run(document, {iframes: false, resultTypes: ['violations']});
  return found.violations.map(each => each.id + ': ' + each.help + ' ' +
    each.nodes.slice(0, 3).map(node => node.target.flat().join(' ') + ' ' + node.html));
}"""


def violations(page) -> list[str]:
    if not AXE.exists():
        pytest.skip("axe-core is not installed; npm --prefix web install brings it")
    if not page.evaluate("'axe' in globalThis"):
        page.evaluate(AXE.read_text())
    return page.evaluate(RUN)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_view_of_a_page(show, tiny_bert, scheme):
    reading = tiny_bert.read(*PAIR)
    view = hs.head_view(reading, layer=1, heads=[0, 2])
    seen = show(view, color_scheme=scheme, reduced_motion="reduce")
    found = {}
    for view in (
        seen.view().locator("[role=tab]").evaluate_all("tabs => tabs.map(t => t.dataset.view)")
    ):
        seen.set(view=view)
        found[view] = violations(seen.page)
    assert set(found) <= set(discover()) and len(found) >= 5
    assert {view: bad for view, bad in found.items() if bad} == {}


def test_axe_finds_nothing_in_the_app_and_its_list_of_keys(new_page, address):
    page = new_page(reduced_motion="reduce")  # half faded in, a text has too little contrast
    page.goto(f"{address}/?model=tiny&text=the+cat+sat&pair=a+dog+ran")
    page.locator(".app-view.hs-ready").wait_for()
    page.locator('[data-panel="facts"][aria-busy="false"]').wait_for()
    assert violations(page) == []
    page.locator('[data-control="help"]').click()
    page.locator("[data-help]").wait_for()
    assert violations(page) == []


def test_axe_finds_nothing_in_a_report(new_page, tiny_bert, tmp_path):
    report = Report("A report", "study", "tiny", "headscope study x", settings={"limit": 3})
    section = report.section("Heads", "What was found.")
    table = pd.DataFrame({"head": ["0-1", "1-2"], "score": [0.5, 0.25]})
    section.table("scores", table, "Scores of two heads")
    reading = tiny_bert.read(*PAIR)
    weights = reading.part().weights(0)[:, :3, 0].T
    section.figure("one", layer_head_map(weights, "A map", "score"), "A map of heads")
    section.figure("two", layer_head_map(weights, "Another", "score"), "Another map of heads")
    section.view("live", hs.head_view(reading, layer=0, heads=[1]), "A live view")
    page = new_page()
    errors: list[str] = []
    page.on("console", lambda said: said.type == "error" and errors.append(said.text))
    page.goto(report.save(tmp_path / "report.html").as_uri())
    page.frame_locator("iframe").locator(".hs-ready").wait_for()
    assert violations(page) == []
    assert errors == [], "the policy must allow what the report needs, and nothing else"
    assert "unsafe-inline" not in report.html().split("style-src-attr")[0]
    boxes = [page.locator("figure.drawing").nth(at).bounding_box() for at in (0, 1)]
    assert boxes[0]["y"] == boxes[1]["y"], "two figures stand side by side"


def test_a_saved_page_has_a_main_part_and_a_heading(show, tiny_bert):
    seen = show(hs.head_view(tiny_bert.read(*PAIR), labels=()))
    assert seen.page.locator("main h1").count() == 1
    assert "I went to the store." in seen.page.locator("main h1").inner_text()


def active(seen) -> str:
    return seen.call(
        "(at => { while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;"
        " return at?.dataset?.control ?? at?.className ?? '' })(document.activeElement)"
    )


def test_the_list_of_keys_holds_the_focus_and_gives_it_back(show, tiny_bert):
    seen = show(hs.head_view(tiny_bert.read(*PAIR), layer=1, heads=[0], labels=()))
    seen.control("help").focus()
    seen.page.keyboard.press("Enter")
    seen.view().locator("[data-help]").wait_for()
    layer = seen.state()["layer"]
    for key in ("Tab", "Tab", "Tab", "ArrowUp", "2"):
        seen.page.keyboard.press(key)
    assert seen.state()["layer"] == layer and seen.state()["view"] == "head"
    inside = "m.root.querySelector('dialog').contains(m.root.getRootNode().activeElement)"
    assert seen.call(inside) or active(seen) == ""  # a browser's own frame may come between
    seen.page.keyboard.press("Escape")
    seen.view().locator("[data-help]").wait_for(state="detached")
    assert active(seen) == "help"


def test_arrows_on_a_tab_go_from_tab_to_tab_and_leave_the_head_alone(show, tiny_bert):
    seen = show(hs.head_view(tiny_bert.read(*PAIR), layer=1, heads=[0], labels=()))
    tabs = seen.view().locator("[role=tab]").evaluate_all("tabs => tabs.map(t => t.dataset.view)")
    seen.view().locator('[role=tab][aria-selected="true"]').focus()
    seen.page.keyboard.press("ArrowRight")
    seen.painted()
    assert seen.state()["view"] == tabs[(tabs.index("head") + 1) % len(tabs)]
    assert seen.state()["heads"] == [0]


def test_the_matrix_is_walked_cell_by_cell_and_speaks(show, tiny_bert):
    reading = tiny_bert.read(*PAIR)
    seen = show(hs.matrix_view(reading, layer=1, head=2, labels=()))
    seen.view().locator(".xv canvas").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        seen.page.keyboard.press(key)
    weight = float(reading.part().weights(1)[2, 1, 1])
    assert f"{weight:.3f}"[:4] in seen.call(SPOKEN)
    assert seen.state()["layer"] == 1, "arrows inside the map do not change the layer"
    seen.page.keyboard.press("Enter")
    assert (seen.state()["query"], seen.state()["key"]) == (1, 1)


def test_neurons_are_walked_key_by_key_and_one_by_one_and_speak(show, tiny_bert):
    reading = tiny_bert.read(*PAIR)
    seen = show(hs.neuron_view(reading, layer=1, head=2, query=3, labels=()))
    seen.view().get_by_label("From q and k to the weight, key by key").focus()
    seen.page.keyboard.press("ArrowDown")
    seen.page.keyboard.press("ArrowDown")
    weight = float(reading.part().weights(1)[2, 3, 1])
    assert f"softmax {weight:.3f}"[:12] in seen.call(SPOKEN)
    seen.page.keyboard.press("ArrowRight")
    q = float(reading.part().layer(1).q[2, 3, 0])
    assert "neuron 0" in seen.call(SPOKEN) and f"q {q:.3f}".replace("-", "−")[:6] in seen.call(
        SPOKEN
    )


@pytest.mark.parametrize("name", ["model_view", "head_map"])
def test_the_keyboard_stays_on_the_open_head_and_in_sight(show, make_scope, name):
    deep = make_scope("BertModel", num_hidden_layers=14).read("the cat sat on the mat")
    seen = show(getattr(hs, name)(deep, labels=()), viewport={"width": 700, "height": 420})
    seen.set(layer=0, head=0, heads=[0])
    cell = seen.view().locator('[data-cell="0-0"], [data-map="0-0"]')
    cell.focus()
    for _ in range(12):
        seen.page.keyboard.press("ArrowDown")
        seen.painted()
    opened = seen.view().locator('[data-cell="12-0"], [data-map="12-0"]')
    assert opened.evaluate("cell => cell.getRootNode().activeElement === cell")

    def in_sight() -> bool:
        stage, box = seen.view().locator(".stage").bounding_box(), opened.bounding_box()
        top, bottom = stage["y"], stage["y"] + stage["height"] + 1
        return top <= box["y"] and box["y"] + box["height"] <= bottom

    assert until(seen.page, in_sight)


def test_c_copies_the_whole_row_of_the_token_in_hand(show, tiny_bert):
    reading = tiny_bert.read(*PAIR)
    seen = show(hs.head_view(reading, layer=1, heads=[0], query=4, labels=()))
    seen.page.evaluate("navigator.clipboard.writeText = async text => { globalThis.copied = text }")
    seen.page.keyboard.press("c")
    copied = until(seen.page, lambda: seen.page.evaluate("globalThis.copied"))
    lines = copied.split("\n")
    assert len(lines) == 1 + len(reading.tokens)
    weights = [float(line.split("\t")[1]) for line in lines[1:]]
    assert weights == pytest.approx(reading.part().weights(1)[0, 4].tolist(), abs=1e-3)


def test_a_token_found_in_a_zoomed_matrix_is_brought_into_sight(show, tiny_bert):
    text = "the cat sat on the mat and a dog ran to the store . " * 4
    reading = tiny_bert.read(text)
    seen = show(hs.matrix_view(reading, layer=1, head=2, labels=()))
    for _ in range(5):
        seen.page.keyboard.press("+")
    before = seen.view().locator(".xv canvas").screenshot()
    seen.view().locator(".xv canvas").hover()
    seen.tooltip()
    seen.page.keyboard.press("+")
    seen.view().locator(".tooltip").wait_for(state="hidden")  # what it was about has moved away
    seen.page.keyboard.press("-")
    seen.set(query=len(reading.tokens) - 2)
    assert until(seen.page, lambda: seen.view().locator(".xv canvas").screenshot() != before)


def test_columns_of_numbers_never_reach_into_the_weights(show, make_scope):
    wide = make_scope("BertModel", hidden_size=256).read("the cat sat on the mat")
    seen = show(
        hs.neuron_view(wide, layer=1, head=2, labels=()), viewport={"width": 900, "height": 600}
    )
    overlapping = seen.call(
        "m.view.scene.columns.bars.filter(c => c.name !== 'weight' "
        "&& c.x + c.width > m.view.scene.weightX - 6).map(c => c.name)"
    )
    assert overlapping == []


def test_a_decoder_s_neurons_open_on_a_token_that_has_something_to_choose(show, tiny_llama):
    seen = show(
        hs.head_view(tiny_llama.read("the cat sat on the mat"), layer=1, heads=[1], labels=())
    )
    seen.set(view="neuron")
    assert seen.call("m.picture().query") >= 2
    assert not seen.status().startswith("0 of")
