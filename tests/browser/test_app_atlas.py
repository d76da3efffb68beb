"""The app and the atlas: from the sentence in hand to this head over a corpus, and back."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

import headscope as hs
from headscope.surfaces.app import Models, create_app
from headscope.surfaces.app.guard import LOOPBACK, Guard
from headscope.surfaces.app.server import routes_over
from headscope.surfaces.app.session import session_over
from tests.atlas.conftest import texts
from tests.browser.looking import display
from tests.browser.serving import served

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def atlas(tiny_bert):
    return hs.atlas(tiny_bert, texts(12), top=4, progress=False)


@pytest.fixture(scope="module")
def address(tiny_bert, atlas):
    from headscope.surfaces.app.front import HEADERS, Front

    models = Models(["tiny"], scopes={"bundled": tiny_bert, "tiny": tiny_bert})

    def make(stage):
        stage.doing = None
        return routes_over(session_over(models, atlas))

    app = Guard(Front(make), hosts=LOOPBACK, headers=HEADERS)
    with served(app) as where:
        yield where


def opened(new_page, address, model="tiny"):
    page = new_page(viewport={"width": 1440, "height": 900})
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}/?model={model}&text=the+cat+sat+on+the+mat&layer=1&head=2")
    page.locator('[data-side="query"][data-token="1"]').first.wait_for()
    return page, errors


def test_from_a_sentence_to_this_head_over_a_corpus_to_an_example_and_back(
    new_page, address, atlas
):
    page, errors = opened(new_page, address)
    page.locator("[data-control=atlas]").click()
    page.locator(".at-page h2", has_text="Head 1-2").wait_for()  # the head in hand, not another
    asks = page.locator(".at-deciles button")
    assert asks.all_inner_texts() == ["strongest", "typical", "weakest"]
    lowest = asks.last.get_attribute("title") or ""
    asks.last.click()
    worst = page.locator(".at-examples li").first
    page.locator('[data-control="weakest"][aria-pressed="true"]').wait_for()
    low, high = (float(part) for part in lowest.split(":")[0].split(" to "))
    assert low - 1e-3 <= float(worst.get_attribute("data-value") or "nan") <= high + 1e-3
    asks.first.click()
    page.locator('[data-control="strongest"][aria-pressed="true"]').wait_for()
    assert page.locator("[data-control=panels]").input_value() == "clusters"
    examples = atlas.examples(1, 2)
    first = page.locator(".at-examples li").first
    assert first.get_attribute("data-document") == str(examples["document"].iloc[0])
    first.locator("p, span").first.click()
    page.locator(".app-atlas").wait_for(state="hidden")
    query = page.locator('[data-side="query"][data-token] .text')
    words = atlas.document(int(examples["document"].iloc[0])).tokens
    last = page.locator(f'[data-side="query"][data-token="{len(words) - 1}"] .text')
    last.first.wait_for()  # the text of the example is longer than the sentence
    shown = [text.strip() for text in query.all_inner_texts()]
    assert [word.removeprefix("##") for word in words] == [w.removeprefix("##") for w in shown]
    page.wait_for_url(re.compile("layer=1.*head=2"))
    page.locator("[data-control=atlas]").click()
    page.locator(".at-page h2", has_text="Head 1-2").wait_for()
    page.locator("[data-control=opens]").select_option("matrix")
    display(page.locator(".app-atlas"))
    page.locator("[data-control=panels]").select_option("heads")
    page.locator("[data-control=y]").select_option("focus")
    page.locator(".at-examples li").first.locator(".at-text").click()
    page.locator("[role=tab][data-view=matrix][aria-selected=true]").wait_for()
    page.wait_for_url(re.compile(f"view=matrix.*query={examples['query'].iloc[0]}"))
    page.locator("[data-control=atlas]").click()
    page.locator(".at-page h2", has_text="Head 1-2").wait_for()
    assert page.locator("[data-control=y]").input_value() == "focus"  # as it was left
    page.locator("[data-control=atlas]").click()  # back to the reading
    page.locator("[role=tab][data-view=matrix][aria-selected=true]").wait_for()
    assert errors == []


def test_an_atlas_file_is_opened_from_the_app_and_one_of_another_model_is_told(
    new_page, address, atlas, tmp_path
):
    own, other = tmp_path / "own.atlas", tmp_path / "other.atlas"
    atlas.save(own)
    hs.Atlas({**atlas.description, "weights": "of another"}, atlas._tables).save(other)
    page, errors = opened(new_page, address)
    page.locator("[data-control=atlas]").click()
    page.locator(".at-page").wait_for()
    page.set_input_files("[data-control=atlas-file]", other)
    page.locator(".app-atlas .message", has_text="its weights differ").wait_for()
    page.set_input_files("[data-control=atlas-file]", own)
    page.locator(".app-atlas .message").wait_for(state="detached")
    page.locator(".at-page").wait_for()
    assert errors == []


def test_places_of_the_corpus_most_like_a_token_on_screen_are_found_and_opened(
    new_page, address, atlas, tiny_bert
):
    page, errors = opened(new_page, address)
    panel = page.locator("[data-panel=nearest]")
    assert "Click a token" in panel.inner_text()
    page.locator('[data-side="query"][data-token="2"]').first.click()
    panel.locator("[data-control=nearest]").click()
    expected = atlas.nearest(tiny_bert, "the cat sat on the mat", 2, 1, 2, n=6)
    panel.locator("[data-near-place]").nth(5).wait_for()
    shown = [
        each.get_attribute("data-near-place") for each in panel.locator("[data-near-place]").all()
    ]
    assert shown == [f"{row.document}-{row.query}" for row in expected.itertuples()]
    assert "compared with every position" in panel.inner_text()
    panel.locator("[data-near-place]").nth(3).click()
    words = atlas.document(int(expected["document"].iloc[3])).tokens
    page.locator(f'[data-side="query"][data-token="{len(words) - 1}"]').first.wait_for()
    page.wait_for_url(f"**query={expected['query'].iloc[3]}**")
    assert errors == []


def test_the_atlas_of_two_stacks_shows_each_kind_and_opens_both_texts(new_page, tiny_t5):
    from headscope.surfaces.app.front import HEADERS, Front

    models = Models(["tiny"], scopes={"bundled": tiny_t5, "tiny": tiny_t5})
    pairs = [("the red cat sat", "a dog ran"), ("it was the blue mat", "one of two")]
    atlas = hs.atlas(tiny_t5, pairs * 2, top=4, progress=False)

    def make(stage):
        stage.doing = None
        return routes_over(session_over(models, atlas))

    with served(Guard(Front(make), hosts=LOOPBACK, headers=HEADERS)) as where:
        page, errors = opened(new_page, where)
        page.locator("[data-control=atlas]").click()
        page.locator("[data-control=atlas-kind]").select_option("cross")
        page.locator(".at-into").first.wait_for()
        page.locator(".at-examples li .at-text").first.click()
        page.locator(".app-atlas").wait_for(state="hidden")
        page.wait_for_url("**kind=cross**")
        page.locator('[data-side="query"][data-token="2"]').first.wait_for()
        # and from there to the places where this head does most alike
        panel = page.locator("[data-panel=nearest]")
        panel.locator("[data-control=nearest]").click()
        panel.locator("[data-near-place]").nth(5).wait_for()
        asked = parse_qs(urlsplit(page.url).query)
        layer, head, query = (int(asked[name][0]) for name in ("layer", "head", "query"))
        source = atlas.examples(layer, head, 1, kind="cross")["document"].iloc[0]
        expected = atlas.nearest(
            tiny_t5, tiny_t5.read(*pairs[source % 2]), query, layer, head, kind="cross", n=6
        )
        shown = [
            each.get_attribute("data-near-place")
            for each in panel.locator("[data-near-place]").all()
        ]
        # every text is in the corpus twice, and either may come first
        assert [(int(place[0]) % 2, place[2:]) for place in shown] == [
            (row.document % 2, str(row.query)) for row in expected.itertuples()
        ]
        assert errors == []


def test_a_model_without_an_atlas_gets_one_at_the_press_of_a_button(
    new_page, tiny_bert, tiny_llama, tmp_path
):
    models = Models(["tiny", "writer"], scopes={"tiny": tiny_bert, "writer": tiny_llama})
    texts_file = tmp_path / "mine.txt"
    texts_file.write_text("\n".join(first for first, _ in texts(12)))
    with served(create_app(models)) as where:
        page, errors = opened(new_page, where, model="writer")
        page.get_by_role("button", name="Build an atlas").click()
        page.locator("[data-build] [data-estimate]", has_text="209 texts, about").wait_for()
        page.set_input_files("[data-control=build-file]", texts_file)
        page.locator("[data-estimate]", has_text="12 texts, about").wait_for()
        page.locator("[data-control=build]").click()
        page.locator(".at-page").wait_for()
        assert page.locator("[data-build]").count() == 0
        page.locator("[data-control=atlas]", has_text="back").click()
        page.locator("[data-control=atlas]", has_text=re.compile("^atlas$")).wait_for()
        assert errors == []
