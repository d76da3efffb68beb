"""What made a prediction, as it is seen: bars, words, flow; attention by what it carries."""

from __future__ import annotations

import re

import numpy as np
import pytest

import headscope as hs
from headscope.circuits.logits.attribution import flow_of
from headscope.figures.fonts import drawable
from headscope.views import draw
from tests.tiny import tiny_scope

pytestmark = pytest.mark.browser
TEXT = "i went to the store and bought a red"


@pytest.fixture(scope="module")
def llama() -> hs.Scope:
    return tiny_scope("LlamaForCausalLM", num_key_value_heads=2)


def number(text: str) -> float:
    return float(re.sub(r"[−–]", "-", text).replace("+", ""))


def test_bars_are_the_parts_and_a_click_shows_from_where(show, llama) -> None:
    found = hs.attribute(llama, TEXT, target="house")
    seen = show(hs.prediction_view(found))
    bars = seen.view().locator(".pr-bar")
    first = found.strongest(1)[0]
    assert bars.count() == len(found.strongest(24)) + 1  # and all others
    assert bars.first.inner_text().split()[0] in first.label
    assert number(bars.first.locator("em").inner_text()) == pytest.approx(first.value, abs=5e-3)
    heads = [one for one in found.strongest(24) if one.part == "head"]
    other = heads[-1]
    seen.view().locator("button.pr-bar", has_text=re.compile(f"^{other.label}")).click()
    seen.painted()
    assert (seen.state()["layer"], seen.state()["head"]) == (other.layer, other.head)
    titles = seen.view().locator(".pr-text span").evaluate_all("all => all.map(e => e.title)")
    taken = [number(title.split(" ")[0]) for title in titles]
    assert taken == pytest.approx(found.by_key(other.layer, other.head).tolist(), abs=1e-3)
    assert not seen.errors


def test_an_edge_of_the_flow_opens_the_head_it_leads_to(show, llama) -> None:
    found = hs.attribute(llama, TEXT, target="house")
    seen = show(hs.prediction_view(found))
    edge = seen.view().locator(".pr path.edge").last  # the strongest is drawn last
    box = edge.evaluate(
        "e => { const half = e.getPointAtLength(e.getTotalLength() / 2);"
        " const p = half.matrixTransform(e.getScreenCTM()); return [p.x, p.y]; }"
    )
    seen.page.mouse.move(*box)
    seen.view().locator(".tooltip", has_text="from “").wait_for()
    seen.page.mouse.click(*box)
    seen.painted()
    heads = {(one.layer, one.head) for one in found.strongest(14, "head")}
    assert (seen.state()["layer"], seen.state()["head"]) in heads
    assert seen.view().locator(".pr text.node.open").count() == 1


def test_words_of_both_texts_are_told_apart_on_screen_and_on_paper(show) -> None:
    """A decoder takes from what it was given and from what it wrote: number 1 of each is a word."""
    translator = tiny_scope("T5ForConditionalGeneration", num_layers=2, num_decoder_layers=3)
    found = hs.attribute(translator, "on mat", "a dog ran to the store")
    kinds = {edge.kind for edge in flow_of(found).edges}
    assert kinds == {"cross", "decoder"}
    words = [*found.key, *found.query]
    seen = show(hs.prediction_view(found))
    listed = seen.view().locator('.pr svg text[text-anchor="end"]:not([x="456"])')
    assert listed.all_text_contents() == words
    rows = {float(text.get_attribute("y")) - 4: text.text_content() for text in listed.all()}
    starts = (
        seen.view()
        .locator(".pr path.edge")
        .evaluate_all(
            "paths => paths.map(path => path.getAttribute('d').split('C')[0].split(' ')[1])"
        )
    )
    edges = sorted(flow_of(found).edges, key=lambda edge: abs(edge.value))
    taken = [(found.key if edge.kind == "cross" else found.query)[edge.key] for edge in edges]
    assert [rows[float(start)] for start in starts] == taken
    figure = draw("prediction", found, {})
    on_paper = [text.get_text() for text in figure.axes[0].texts]
    assert on_paper[: len(words)] == [drawable(word) for word in words]


def test_the_norm_is_drawn_in_place_of_the_weight_and_named(show, llama) -> None:
    reading = hs.circuits.with_weightings(llama, TEXT, target="house")
    part = reading.part()
    seen = show(hs.head_view(reading, layer=1, heads=[2]))
    for view in ("head", "matrix", "text"):
        seen.set(view=view, weighting="weight")
        assert "norm of what" not in seen.view().locator(".legend").inner_text()
        for by in ("norm", "logit"):
            seen.control("weighting").select_option(by)
            seen.painted()
            kept = part.weightings[by]
            assert kept.label in seen.view().locator(".legend").inner_text()
            own = part.weights(1)[2] * kept.shares(1)[2]
            at = np.unravel_index(own.argmax(), own.shape)
            drawn = seen.weight("decoder", 1, 2, int(at[0]), int(at[1]))
            assert drawn == pytest.approx(float(own[at]), abs=2e-3)
    seen.set(view="neuron")
    assert seen.control("weighting").count() == 0
    assert seen.weight("decoder", 1, 2, 3, 1) == pytest.approx(
        float(part.weights(1)[2, 3, 1]), abs=1e-3
    )
