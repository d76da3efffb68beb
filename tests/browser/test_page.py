"""Pages from disk: alone, together, in both themes, under a strict policy, with hostile tokens."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.surfaces.page import page
from headscope.views import Sending, discover, of_text
from tests.surfaces.test_page import HOSTILE

pytestmark = pytest.mark.browser
PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")
SCOPES = ["tiny_bert", "tiny_gpt2", "tiny_llama", "tiny_t5", "tiny_gemma", "tiny_deberta"]


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("neurons", [True, False])
def test_the_page_s_weights_are_the_captured_ones(show, scope, neurons, request):
    """neurons=True: the page computes the softmax of q and k itself."""
    reading = request.getfixturevalue(scope).read(*PAIR)
    data = discover()["head"].build(reading, sending=Sending(neurons=neurons))
    seen = show(page(data))
    for kind, part in reading.parts.items():
        for layer in part.numbers:
            expected = part.weights(layer)
            got = seen.call(
                """await (async () => { const [kind, layer, h, t, s] = argument; const all = [];
                for (let i = 0; i < h; i++) for (let q = 0; q < t; q++) for (let k = 0; k < s; k++)
                  all.push(await m.weight(kind, layer, i, q, k)); return all; })()""",
                [kind, layer, *expected.shape],
            )
            error = np.abs(np.reshape(got, expected.shape) - expected).max()
            assert error <= 1e-3, (kind, layer, error)


@pytest.mark.parametrize("name", sorted(of_text()))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_opens_from_disk_with_no_request_and_no_complaint(show, tiny_bert, name, scheme):
    data = discover()[name].build(tiny_bert.read(*PAIR))
    seen = show(page(data), color_scheme=scheme)
    own = seen.page.url
    assert [url for url in seen.requests if url != own and not url.startswith("data:")] == []
    assert seen.errors == []
    middle = seen.pixels()[:, :].mean()
    assert middle > 180 if scheme == "light" else middle < 90


@pytest.mark.parametrize(("theme", "light"), [("light", True), ("dark", False)])
def test_a_theme_that_was_set_wins_over_the_system_s(show, tiny_bert, theme, light):
    other = "dark" if light else "light"
    seen = show(hs.head_view(tiny_bert.read(*PAIR), theme=theme), color_scheme=other)
    box = seen.view().bounding_box()
    inside = seen.pixels()[: int(box["height"]), : int(box["width"])].mean()
    assert (inside > 180) == light


def test_hostile_tokens_are_shown_as_text(show):
    weights = np.random.default_rng(0).dirichlet(np.ones(len(HOSTILE)), (1, 2, len(HOSTILE)))
    reading = hs.Reading.from_attention(weights.astype("float32"), HOSTILE, model=HOSTILE[0])
    for name in ("head", "matrix", "model"):
        seen = show(page(discover()[name].build(reading)))
        seen.page.on("dialog", lambda dialog: pytest.fail(f"a token ran: {dialog.message}"))
        assert seen.errors == []
        assert seen.page.locator("img").count() == 0
    shown = show(hs.head_view(reading, labels=()))
    assert HOSTILE[0] in shown.token("query", 0).inner_text()
    assert HOSTILE[1] in shown.token("key", 1).inner_text()
    shown.token("query", 0).hover()
    assert shown.errors == []


def test_several_views_on_one_page_leave_each_other_alone(show, tiny_bert):
    reading = tiny_bert.read(*PAIR)
    views = [
        hs.head_view(reading, layer=0, heads=[0], labels=()).data,
        hs.head_view(reading, layer=1, heads=[2], labels=()).data,
    ]
    seen = show(page(views))
    seen.ready(2)
    seen.chip(3, number=1).click()
    seen.set(number=1, layer=0)
    assert seen.state(0)["heads"] == [0] and seen.state(0)["layer"] == 0
    assert seen.state(1)["heads"] == [2, 3] and seen.state(1)["layer"] == 0
    assert seen.chip(3, number=0).get_attribute("aria-pressed") == "false"


def test_an_encoder_and_a_decoder_of_different_depths(show, tiny_t5):
    reading = tiny_t5.read(*PAIR)
    seen = show(hs.head_view(reading, layer=0, heads=[0], labels=()))
    for kind, part in reading.parts.items():
        seen.control("kind").select_option(kind)
        seen.painted()
        assert seen.control("layer-menu").locator("option").count() == len(part.layers)
        assert seen.view().locator('[data-side="query"][data-token]').count() == len(part.query)
        assert seen.view().locator('[data-side="key"][data-token]').count() == len(part.key)
        last = part.numbers[-1]
        seen.set(layer=last)
        expected = float(part.weights(last)[0, 1, 0])
        assert seen.weight(kind, last, 0, 1, 0) == pytest.approx(expected, abs=1e-3)


def test_a_thumbnail_opens_its_head(show, tiny_bert):
    seen = show(hs.model_view(tiny_bert.read(*PAIR), labels=()))
    assert seen.view().locator("[data-cell]").count() == 8
    seen.view().locator('[data-cell="1-2"]').dblclick()
    seen.painted()
    if seen.state()["view"] != "head":
        seen.page.keyboard.press("Enter")
        seen.painted()
    state = seen.state()
    assert (state["view"], state["layer"], state["head"]) == ("head", 1, 2)


def test_the_model_view_shows_only_the_columns_asked_for(show, tiny_bert):
    seen = show(hs.model_view(tiny_bert.read(*PAIR), heads=[0, 3], labels=()))
    cells = [cell.get_attribute("data-cell") for cell in seen.view().locator("[data-cell]").all()]
    assert cells == ["0-0", "0-3", "1-0", "1-3"]


def test_the_neuron_view_opens_from_the_others_and_adds_up(show, tiny_llama):
    reading = tiny_llama.read(*PAIR)
    seen = show(hs.head_view(reading, layer=1, heads=[3], labels=()))
    seen.view().locator('[role="tab"][data-view="neuron"]').click()
    seen.set(query=6)
    assert seen.state()["view"] == "neuron"
    layer = reading.part().layer(1)
    product = layer.k[3 // 2] @ layer.q[3, 6]  # two heads share a key
    for key in range(7):  # what the query may look at
        row = seen.view().locator(f'[data-row="{key}"]')
        assert float(row.get_attribute("data-dot")) == pytest.approx(
            product[key], rel=1e-4, abs=1e-3
        )
        weight = float(reading.part().weights(1)[3, 6, key])
        assert float(row.get_attribute("data-weight")) == pytest.approx(weight, abs=1e-3)
    row = seen.view().locator('[data-row="2"]')
    row.hover(position={"x": 140, "y": 8})  # over a cell of k
    tip = seen.tooltip()
    assert "q×k" in tip.inner_text() and "neuron" in tip.inner_text()


def test_where_q_and_k_cannot_be_read_the_page_says_why(show, tiny_bert):
    reading = tiny_bert.read(*PAIR).words()
    seen = show(hs.neuron_view(reading))
    assert reading.part().why_no_qk in seen.text()


def test_a_difference_of_two_readings_shows_signed_numbers(show, tiny_bert):
    one, two = tiny_bert.read("the cat sat on the mat"), tiny_bert.read("the dog ran to a tree")
    seen = show(hs.matrix_view(one, layer=1, head=0, other=two))
    assert seen.state()["reading"] == "difference"
    assert seen.errors == []


def test_a_reading_of_one_token_opens(show, tiny_gpt2):
    for view in (hs.head_view, hs.model_view, hs.matrix_view, hs.neuron_view):
        assert show(view(tiny_gpt2.read("cat"))).errors == []


def test_what_may_be_wrong_with_a_reading_is_said_above_its_picture(show, tiny_bert):
    view = hs.head_view(tiny_bert.read("мама мыла раму the"))
    seen = show(view)
    assert "unknown to the tokenizer" in seen.page.locator(".warning").inner_text()
    assert seen.page.locator('[data-side="query"][data-token="1"] .text').inner_text() == "мама"
    frame = show(view._repr_html_(), waiting=False).page.frame_locator("iframe")
    assert "unknown to the tokenizer" in frame.locator(".warning").inner_text()
