"""The score view: its numbers are the score's, words are those that heads read, a click follows."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.errors import BadInput
from tests.browser.conftest import chromium, new_page, show
from tests.circuits.built import built_scope, induction_model
from tests.views.decoding import Container

__all__ = ["chromium", "new_page", "show"]
TEXT = "dog the cat sat the"


@pytest.fixture(scope="module")
def found():
    scope = built_scope(induction_model(), "induction", bare=True)
    return hs.circuits.score(scope, TEXT, 1, 0, 4, 2, verify=1), scope.read(TEXT)


def test_the_view_holds_the_scores_parts_and_the_words_behind_them(found):
    score, reading = found
    data = Container(hs.score_view(score, reading=reading).data.container())
    shown = data.header["score"]
    parts = data.array(shown["parts"])
    assert parts.shape == (len(shown["query"]), len(shown["key"]))
    assert parts.sum() + shown["rest"] == pytest.approx(score.parts.sum(), abs=1e-3)
    by_name = {one["name"]: one for one in shown["key"]}
    sums = score.table.query("measure == 'key'").set_index("writer")["value"]
    for name, one in by_name.items():
        assert one["value"] == pytest.approx(sums[name], abs=1e-4)
    assert score.title == "head 1-0, “the” (4) to “cat” (2)"
    # the previous-word head at "cat" read "the"
    assert by_name["0-0"]["word"] == "the" and by_name["0-0"]["read"][0] == 1
    assert by_name["embedding"]["word"] == "cat"
    assert shown["removed"][1]["writer"] == "0-0"
    np.testing.assert_allclose(
        shown["removed"][1]["measured"], score.verified[1].measured, atol=1e-4
    )


def test_a_score_of_all_keys_and_a_reading_of_another_text_are_refused(found):
    score, _ = found
    scope = built_scope(induction_model(), "induction", bare=True)
    with pytest.raises(BadInput, match=r"give hs\.circuits\.score a key"):
        hs.score_view(hs.circuits.score(scope, TEXT, 1, 0, 4))
    with pytest.raises(BadInput, match="of different texts"):
        hs.score_view(score, reading=scope.read("the dog"))


def test_a_click_on_a_writer_opens_that_head_at_what_it_wrote(found, show):
    score, reading = found
    page = show(hs.score_view(score, reading=reading))
    assert "head 0-0 “the”" in page.view().locator(".so-said").inner_text()
    page.view().locator(".so-table th[scope=col] button", has_text="0-0").click()
    state = page.state()
    assert (state["view"], state["layer"], state["head"], state["query"]) == ("head", 0, 0, 2)
    assert not page.errors
