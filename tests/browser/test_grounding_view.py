"""The grounding page: sentences shade documents, methods and heads are chosen, nothing runs."""

from __future__ import annotations

import random

import pytest
from playwright.sync_api import expect

import headscope as hs
from headscope.grounding.result import Grounding
from tests.browser.looking import Seen, until
from tests.reading.test_conversation import scope_with
from tests.text.test_chat import TEMPLATES

HURT = "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 1'>"
WORDS = "the cat sat on a mat he ran to it two red green blue house tree store bought dog".split()
LIMIT = 25_000_000  # bytes of a page


def grounded(documents: list[str], answer: str) -> tuple[Grounding, hs.Reading]:
    scope = scope_with(TEMPLATES["chatml"], positions=40_000)
    found = hs.ground(scope, "the cat ?", documents, answer, most_heads=2, shuffles=1)
    return found, scope.read(messages="the cat ?", documents=documents, answer=answer)


def shades(seen: Seen) -> list[float]:
    seen.painted()
    return (
        seen.view()
        .locator(".gr-document mark")
        .evaluate_all("marks => marks.map(one => Number(one.style.getPropertyValue('--share')))")
    )


def test_a_sentence_shades_documents_by_the_chosen_method(show):
    found, reading = grounded(["a cat sat .", "the dog ran .", "one two"], "the cat ran . it sat .")
    seen = show(hs.grounding_view(found, reading=reading))
    view = seen.view()

    def shaded_by(method: str, sentence: int) -> bool:
        values = found.by_source(method, sentence).set_index("source")["value"].abs()
        wanted = [float(values[one.name] / values.max()) for one in found.sources]
        return until(seen.page, lambda: shades(seen) == pytest.approx(wanted, abs=1e-3))

    assert shaded_by("exact", -1)
    first = view.locator('[data-control="s1"]')
    first.hover()
    expect(view.locator(".gr-verdict")).to_contain_text("This sentence")
    assert shaded_by("exact", 0)
    first.click()
    expect(view.locator('[data-control="s1"]')).to_have_attribute("aria-pressed", "true")
    view.locator('[data-control="method"]').select_option("norm")
    seen.away()
    assert shaded_by("norm", 0)
    view.locator(".gr-document mark").first.hover()
    expect(seen.tooltip()).to_contain_text("exact")
    expect(view.locator(".gr-together")).to_contain_text("2 cut together")
    head = view.locator(".gr-heads button").first
    name = head.inner_text()
    head.click()
    assert until(seen.page, lambda: seen.state()["view"] == "text")
    assert f"{seen.state()['layer']}-{seen.state()['head']}" == name
    rows = found.rows("mass").set_index(["layer", "head"])["value"]
    mass = rows[(seen.state()["layer"], seen.state()["head"])]
    heading = view.locator(f'.tx-heading[data-span="{found.table["source"].iloc[0]}"]')
    expect(heading).to_be_visible()
    assert until(seen.page, lambda: heading.get_attribute("data-sum"))
    assert float(heading.get_attribute("data-sum") or 0) == pytest.approx(mass, abs=2e-3)
    assert view.locator('.tx-heading[data-span="answer"]').count() == 1
    assert not seen.errors and len(seen.requests) == 1


def test_hostile_documents_and_answers_are_inert(show):
    found, reading = grounded([f"a cat {HURT} sat .", "two"], f"the cat {HURT}")
    seen = show(hs.grounding_view(found, reading=reading))
    assert seen.page.evaluate("window.hurt") is None and not seen.errors
    assert seen.view().locator(".gr-document p").first.inner_text() == f"a cat {HURT} sat ."
    assert seen.view().locator(".gr-answer").inner_text() == f"the cat {HURT}"


@pytest.fixture(scope="module")
def many() -> hs.View:
    chance = random.Random(0)
    documents = [" ".join(chance.choices(WORDS, k=499)) + " ." for _ in range(30)]
    found, reading = grounded(documents, "the cat ran . it sat .")
    return hs.grounding_view(found, reading=reading)


@pytest.mark.parametrize("width", [1280, 390])
def test_thirty_documents_of_five_hundred_tokens_fit_a_page(show, many, width):
    assert len(many.html().encode()) < LIMIT
    seen = show(many, viewport={"width": width, "height": 844})
    assert seen.view().locator(".gr-document").count() == 30
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    seen.view().locator('[data-control="s2"]').click()
    expect(seen.view().locator(".gr-verdict")).to_contain_text("This sentence")


def test_every_listed_head_opens_over_thirty_documents(show, many):
    seen = show(many)
    heads = seen.view().locator(".gr-heads button")
    names = heads.all_inner_texts()
    assert len(names) == 2
    summed = seen.view().locator(".tx-heading[data-sum]").first
    for at, name in enumerate(names):
        heads.nth(at).click()
        assert until(seen.page, lambda: seen.state()["view"] == "text")
        expect(summed).to_be_visible()
        assert f"{seen.state()['layer']}-{seen.state()['head']}" == name
        seen.set(view="grounding")
    assert not seen.errors


def test_the_source_that_gave_most_is_listed_and_in_sight(show, many):
    """Of thirty documents the one that matters lies below the edge of the window."""
    seen = show(many)
    listed = seen.view().locator(".gr-first button")
    by_sentence = {s: list(many.source.by_source(sentence=s)["source"][:5]) for s in (-1, 0, 1)}
    assert listed.all_inner_texts() == by_sentence[-1]
    first = int(by_sentence[-1][0].split()[1]) - 1
    document = seen.view().locator(".gr-document")
    expect(document.nth(first)).to_be_in_viewport(ratio=0.5)
    second = seen.view().locator('[data-control="s2"]')
    second.hover()
    assert until(seen.page, lambda: listed.all_inner_texts() == by_sentence[1])
    expect(document.nth(first)).to_be_in_viewport(ratio=0.5)  # a look moves nothing
    second.click()
    other = int(by_sentence[1][0].split()[1]) - 1
    expect(document.nth(other)).to_be_in_viewport(ratio=0.5)
    listed.nth(4).click()
    last = int(by_sentence[1][4].split()[1]) - 1
    expect(document.nth(last)).to_be_in_viewport(ratio=0.5)


def test_a_listed_source_comes_into_sight_on_a_narrow_page(show, many):
    seen = show(many, viewport={"width": 390, "height": 844})
    last = seen.view().locator(".gr-first button").nth(4)
    document = seen.view().locator(".gr-document", has_text=f"{last.inner_text()}\n").first
    expect(document).not_to_be_in_viewport()
    last.click()
    expect(document).to_be_in_viewport(ratio=0.5)
