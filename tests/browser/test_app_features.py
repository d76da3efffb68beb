"""The app teaches, writes and compares: what a person sees of it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looking import display
from tests.browser.test_app import address

__all__ = ["address"]
pytestmark = pytest.mark.browser
STATE = "element => ({...element.headscope.state})"


def opened(new_page, address: str, query: str) -> Page:
    page = new_page()
    page.goto(f"{address}/?{query}")
    page.locator(".app-view.hs-ready").wait_for()
    return page


def state(page: Page, name: str = ".app-view") -> dict:
    return page.locator(name).evaluate(STATE)


def test_an_example_opens_its_own_head_and_says_what_to_see(new_page, address):
    page = opened(new_page, address, "model=tiny")
    lesson = page.locator("[data-lesson]")
    assert lesson.inner_text().startswith("two sentences.") and "Try:" in lesson.inner_text()
    assert "looks most at the next word" in lesson.inner_text()  # random heads do it unclearly
    first = state(page)
    page.locator('summary:has-text("examples")').click()
    titles = page.locator('[data-control="examples"] b').all_inner_texts()
    assert "a translation" not in titles and "a phrase begins again" not in titles
    with page.expect_response(lambda reply: reply.url.endswith("/api/read")):
        page.locator('[data-control="examples"] button', has_text="repeated phrase").click()
    page.locator('[data-lesson]:has-text("a repeated phrase")').wait_for()
    assert (state(page)["layer"], state(page)["head"]) != (first["layer"], first["head"])
    page.locator('[data-control="close-lesson"]').click()
    lesson.wait_for(state="detached")


def test_the_first_hint_has_three_steps_and_never_returns(new_page, address):
    page = opened(new_page, address, "model=tiny&text=the+cat+sat")
    for step in ("1 of 3", "2 of 3", "3 of 3"):
        page.locator("[data-hint]", has_text=step).wait_for()
        page.locator('[data-control="hint-next"]').click()
    page.locator("[data-hint]").wait_for(state="detached")
    page.reload()
    page.locator(".app-view.hs-ready").wait_for()
    assert page.locator("[data-hint]").count() == 0


def test_the_hint_names_the_side_on_which_things_stand(new_page, address):
    page = opened(new_page, address, "model=tiny&text=the+cat+sat")
    words = []
    for _ in range(3):
        words.append(page.locator("[data-hint] p").inner_text())
        page.locator('[data-control="hint-next"]').click()
    page.locator(".this-head").wait_for()
    found = (page.locator(name).bounding_box() for name in (".dial", ".stage", ".this-head"))
    squares, picture, panel = (one or {} for one in found)
    assert "Left: every head" in words[0] and squares["x"] < picture["x"]
    assert "Right: the text" in words[1] and picture["x"] > squares["x"] + squares["width"]
    assert "Below the squares: what this head does" in words[2]
    assert panel["y"] >= squares["y"] + squares["height"]
    page = new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{address}/?model=tiny&text=the+cat+sat")
    page.locator("[data-hint]", has_text="▦ opens every head").wait_for()
    page.locator('[data-control="fold"]').click()
    assert page.locator(".dial").is_visible()


@pytest.mark.parametrize("label", [None, "next word"])
def test_a_sink_is_a_remark_and_never_the_name_of_a_head(new_page, address, label):
    """The server's answer about a head, with a sink and with or without a name of its own."""

    def with_sink(route) -> None:
        facts = route.fetch().json()
        named = {"label": label, "score": 0.9, "evidence": "9 of 10 queries", "about": None}
        sink = {"name": "first-token sink", "about": "leaves most to the first token"}
        sink |= {"score": 0.8, "evidence": "6 of 10 queries", "labelled": True, "rests": True}
        route.fulfill(json={**facts, **named, "sink": sink, "why_no_patterns": None})

    page = new_page()
    page.route("**/api/reading/*/head/**", with_sink)
    page.goto(f"{address}/?model=writer&text=the+cat+sat+on+the+mat")
    headline = page.locator('[data-panel="facts"] .label-line')
    remark = page.locator("[data-sink]")
    said = label or "No pattern stands out besides its sink."
    expect(headline).to_contain_text(said)
    expect(headline).not_to_contain_text("first-token sink")
    begins = "It also leaves" if label else "It leaves"
    expect(remark).to_have_text(f"{begins} most to the first token: 0.80 · 6 of 10 queries")


def test_the_panel_asks_in_plain_order(new_page, address):
    page = opened(new_page, address, "model=tiny&text=the+cat+sat+on+the+mat")
    page.locator('[data-panel="facts"] .meters li').first.wait_for()
    for loaded_when_shown in ("writers", "change"):
        page.locator(f'[data-panel="{loaded_when_shown}"]').wait_for()
    names = page.locator(".this-head [data-panel]").evaluate_all(
        "all => all.map(each => each.dataset.panel)"
    )
    first, last = ["facts", "looks", "numbers", "why", "writers"], ["predictions", "importance"]
    assert names == [*first, "switch", "change", "writes", *last]
    look = page.locator("[data-look]").first
    query = int(look.get_attribute("data-look").split("-")[0])
    look.click()
    assert state(page)["query"] == query


def test_terms_are_explained_to_keyboard_and_touch_in_every_panel(new_page, address):
    page = opened(new_page, address, "model=writer&text=the+cat+sat+on+the+mat")
    page.locator('[data-panel="facts"][aria-busy="false"]').wait_for()
    page.locator('[data-panel="predictions"][aria-busy="false"]').wait_for()
    page.locator('[data-panel="writes"] summary').click()
    page.locator('[data-panel="writes"] .term').first.wait_for()
    tip = page.locator(".tips [role=tooltip]")
    assert not tip.is_visible()
    entropy = page.locator('[data-panel="numbers"] .term', has_text="entropy").first
    entropy.focus()
    expect(tip).to_contain_text("how widely a query spreads its attention")
    assert entropy.get_attribute("aria-describedby") == tip.get_attribute("id")
    page.keyboard.press("Escape")
    tip.wait_for(state="hidden")
    term = page.locator('[data-panel="predictions"] .term', has_text="probability").first
    term.scroll_into_view_if_needed()  # scrolling closes a tip, and a click would scroll
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    term.click()
    expect(tip).to_contain_text("share of certainty")
    box = tip.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 1280 and box["y"] + box["height"] <= 800
    for panel in ("facts", "numbers", "why", "predictions", "writes"):
        assert page.locator(f'[data-panel="{panel}"] .term').count() >= 1, panel


def test_the_app_says_what_may_be_wrong_with_a_reading(new_page, address):
    page = opened(new_page, address, "model=tiny&text=мама+мыла+раму+the")
    assert "unknown to the tokenizer" in page.locator(".app-view .warning").inner_text()
    page.locator("textarea").first.fill("the cat sat")
    page.get_by_role("button", name="read", exact=True).click()
    page.locator('.app-view [data-side="query"] .text', has_text="cat").first.wait_for()
    page.locator(".app-view .warning").wait_for(state="detached")


def test_the_model_writes_and_is_stepped_through(new_page, address):
    page = opened(new_page, address, "model=writer&text=the+cat+sat")
    page.locator('[data-control="write"]').click()
    page.locator('[data-panel="written"]').wait_for()
    page.locator('[data-control="write"]:has-text("write more")').wait_for()
    now = state(page)
    assert now["view"] == "text"
    assert "the model wrote:" in page.locator(".app-view").evaluate("e => e.shadowRoot.textContent")
    written = page.locator('[data-panel="written"]')
    expect(written).to_contain_text("step 1 of 24")
    assert written.locator(".meters li").count() == 5
    page.locator('[data-control="next-step"]').click()
    expect(written).to_contain_text("step 2 of 24")
    assert state(page)["query"] == now["query"] + 1
    page.locator('[data-control="write"]').click()
    page.locator('[data-panel="written"]:has-text("of 48")').wait_for()


def test_heads_are_paired_by_likeness_and_steered_by_one_set_of_controls(new_page, address):
    page = opened(new_page, address, "model=tiny&text=the+cat+sat&against=bundled")
    page.locator('[data-panel="match"]:has-text("likeness 1.00")').wait_for()
    assert page.locator(".app-other .tabs").count() == 0
    assert page.locator('.app-other [data-control="layer"]').count() == 0
    assert page.locator('[data-panel="change"] [data-map]').count() == 8
    page.locator('[data-control="against"]').select_option("another-text")
    page.locator('[data-control="against-text"]').fill("a dog ran to the house")
    page.locator('[data-control="against-text"]').press("Enter")
    page.locator('[data-panel="change"]:has-text("texts differ")').wait_for()
    assert "a dog ran" in page.locator('[data-side-title="other"]').inner_text()
    page.locator('[data-control="pairing"]').select_option("likeness")
    page.locator('.app-view button.chip[data-head="2"]').dblclick()
    text = page.locator('[data-panel="match"] p').first.inner_text()
    other = state(page, ".app-other")
    assert f"head {other['layer']}-{other['head']}" in text.replace("\n", " ")
    page.wait_for_url("**pairing=likeness**")


def test_a_head_that_is_off_shows_dashed_what_it_did_before(new_page, address):
    at = "model=tiny&text=the+cat+sat+on+the+mat&layer=1&head=2&heads=2"
    page = opened(new_page, address, at)
    assert "dashed" not in page.locator(".app-view [data-status]").inner_text()
    page.locator('.app-view [data-flip="2"]').click()
    status = page.locator(".app-view [data-status]", has_text="dashed: with every head on")
    status.wait_for()
    expect(page.locator('[data-panel="facts"] .label-line')).to_have_text(
        "Off: it attends uniformly."
    )
    expect(page.locator(".dial .read-out")).to_contain_text("no label on this text")
    before = page.locator(".app-view canvas").first.evaluate(INKED)
    page.reload()
    status.wait_for()
    assert page.locator(".app-view canvas").first.evaluate(INKED) == before
    page.locator(".app-view").evaluate("e => e.headscope.set({head: 1, heads: [1]})")
    status.wait_for(state="detached")
    page.locator(".app-view").evaluate("e => e.headscope.set({head: 2, heads: [2]})")
    status.wait_for()
    page.locator('[data-control="all-on"]').click()
    status.wait_for(state="detached")


# How much of a canvas is drawn on.
INKED = """canvas => {
  const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let sum = 0;
  for (let i = 0; i < data.length; i += 4) sum += 765 - data[i] - data[i + 1] - data[i + 2];
  return sum;
}"""


def test_the_first_token_is_hidden_with_one_control(new_page, address):
    page = opened(new_page, address, "model=writer&text=the+cat+sat+on+the+mat&layer=0&heads=0")
    display(page.locator(".app-view"))
    page.locator('.app-view [data-control="first"]').select_option("hidden")
    keys = page.locator('.app-view [data-side="key"][data-token]')
    assert keys.first.get_attribute("data-token") == "1"
    assert page.locator('.app-view [data-side="query"][data-token="0"]').count() == 1


def test_the_app_draws_what_is_moved_towards_the_answer_chosen(new_page, address):
    page = opened(new_page, address, "model=writer&text=the+cat+sat+on+the&view=prediction")
    other = page.locator(".pr-answers button").nth(1)
    answer = other.inner_text().split()[0]
    other.click()
    page.locator(f'.pr-answers button[aria-pressed="true"]:has-text("{answer}")').wait_for()
    page.locator(".app-view").evaluate("e => e.headscope.set({view: 'head'})")
    display(page.locator(".app-view"))
    page.locator('[data-control="weighting"]').select_option("logit")
    page.locator(f'.legend:has-text("along the logit of {answer}")').wait_for()
    page.locator('[data-control="weighting"]').select_option("weight")
    page.locator('.legend:has-text("opacity and width: weight")').wait_for()


def test_documents_are_dropped_and_a_question_about_them_is_summed_by_document(new_page, address):
    page = opened(new_page, address, "model=writer&text=who+sat")
    page.locator('[data-control="documents"] summary').click()
    hurt = "<img src=x onerror='window.hurt = 1'>"
    files = [
        {
            "name": f"{hurt}.md",
            "mimeType": "text/markdown",
            "buffer": f"a </script><script>window.hurt = 1</script>{hurt}".encode(),
        },
        {"name": "b.jsonl", "mimeType": "", "buffer": b'{"title": "second", "text": "a dog ran"}'},
    ]
    page.locator('[data-control="documents"] input').set_input_files(files)
    page.locator('[data-control="documents"] summary:has-text("2 documents")').wait_for()
    box = page.locator('[data-control="text"]')
    expect(box).to_have_attribute("aria-label", "Question")
    with page.expect_response(lambda reply: reply.url.endswith("/api/read")) as sent:
        box.press("Enter")
    asked = sent.value.request.post_data_json["documents"]
    assert [one["title"] for one in asked] == [f"{hurt}.md", "second"]
    page.locator('[data-panel="spans"] li').nth(2).wait_for()
    names = page.locator('[data-panel="spans"] li span').all_inner_texts()
    assert names == [f"{hurt}.md", "second", "user 1"]
    for view in ("text", "matrix", "head"):  # each writes the documents' names and words
        page.locator(f"[role=tab][data-view={view}]").click()
        page.locator(f"[role=tab][data-view={view}][aria-selected=true]").wait_for()
    assert page.evaluate("window.hurt") is None
    page.locator('[data-control="documents"] input').set_input_files(
        [{"name": "x.pdf", "mimeType": "", "buffer": b"x"}]
    )
    page.locator('[data-control="documents"] [role="alert"]').wait_for()


def test_messages_before_the_question_are_added_and_removed(new_page, address):
    page = opened(new_page, address, "model=writer&text=who+sat")
    panel = page.locator('[data-control="documents"]')
    panel.locator("summary").click()
    for said in ("a cat", "the dog", "he ran"):
        panel.locator('[data-control="add-message"]').click()
        panel.locator("textarea").last.fill(said)
    assert panel.locator("select").evaluate_all("all => all.map(one => one.value)") == [
        "user", "assistant", "user",
    ]  # fmt: skip
    panel.locator("select").first.select_option("system")
    panel.locator('button:text-is("×")').nth(1).click()
    panel.locator('summary:has-text("2 messages")').wait_for()
    with page.expect_response(lambda reply: reply.url.endswith("/api/read")) as sent:
        page.locator('[data-control="text"]').press("Enter")
    assert sent.value.request.post_data_json["documents"] == [
        {"role": "system", "text": "a cat"},
        {"role": "user", "text": "he ran"},
    ]
    page.locator('[data-panel="spans"] li').nth(2).wait_for()
    names = page.locator('[data-panel="spans"] li span').all_inner_texts()
    assert names == ["system 1", "user 2", "user 3"]


def test_an_answer_is_followed_backwards_with_a_trail(new_page, address):
    """Answer → head → who wrote what it matched → that head, and back."""
    page = opened(new_page, address, "model=writer&text=the+cat+sat+on+the+mat&view=prediction")
    page.locator("button.pr-bar", has_text=re.compile("^1-")).first.click()
    panel = page.locator("[data-panel=writers]")
    panel.locator("[data-control=writers]").click()
    writer = panel.locator("[data-writer]").first
    writer.wait_for(state="attached")
    first = state(page)
    assert (first["layer"], first["query"], first["view"]) == (1, 7, "prediction")
    share = panel.locator("li b").first.inner_text()
    assert re.fullmatch(r"[−-]?\d+ %", share)
    name = writer.get_attribute("data-writer")
    writer.click()
    back = panel.locator("[data-trail]")
    back.wait_for()
    now = state(page)
    assert (f"{now['layer']}-{now['head']}", now["view"]) == (name, "head")
    assert back.inner_text().startswith(f"1-{first['head']} “")
    back.click()
    back.wait_for(state="detached")
    again = state(page)
    assert [again[one] for one in ("layer", "head", "query", "view")] == [
        first[one] for one in ("layer", "head", "query", "view")
    ]


def test_all_writers_are_shown_and_a_click_follows_one(new_page, address):
    page = opened(new_page, address, "model=writer&text=the+cat+sat+on+the+mat&layer=1&query=5")
    panel = page.locator("[data-panel=writers]")
    panel.locator("[data-control=writers]").click()
    panel.locator("[data-control=all-writers]").click()
    dialog = page.locator("dialog[open]")
    dialog.locator(".so-table").wait_for()
    assert "Writers of the query" in dialog.locator(".so-said").inner_text()
    button = dialog.locator(".so-table th[scope=row] button").first
    name = button.locator("b").inner_text()
    button.click()
    dialog.wait_for(state="detached")
    panel.locator("[data-trail]").wait_for()
    now = state(page)
    assert (f"{now['layer']}-{now['head']}", now["view"], now["query"]) == (name, "head", 5)
