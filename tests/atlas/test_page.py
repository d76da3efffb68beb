"""The atlas's page: its numbers are the atlas's own, a brush chooses what it encloses, and text
from the corpus stays text."""

from __future__ import annotations

import re

import numpy as np
import pytest

import headscope as hs
from headscope.errors import BadInput
from headscope.views.of_heads.head_page import sentence
from tests.atlas.conftest import texts
from tests.browser.conftest import chromium, new_page, show
from tests.browser.test_access import violations
from tests.tiny import tiny_scope
from tests.views.decoding import Container

__all__ = ["chromium", "new_page", "show"]
HOSTILE = "<img src=x onerror=alert(1)>"
# ends a script, runs in a spreadsheet, turns the line round, and fills it
NASTY = ("</script><script>alert(1)</script>", '=HYPERLINK("x")', "\u202eabc\u2066", "w" * 20_000)
HEADS_SHOWN = "[...document.querySelector('[data-headscope]').shadowRoot.querySelectorAll('{}')]"


@pytest.fixture(scope="module")
def hostile(atlas):
    """The same atlas over texts that would run, were they ever markup."""
    documents = atlas.frame("documents").copy()
    spelled = (HOSTILE, *NASTY)
    documents["tokens"] = [
        [spelled[at % len(spelled)] for at in range(len(tokens))] for tokens in documents["tokens"]
    ]
    names = ("heads", "labels", "examples", "deciles", "profiles", "distances", "groups")
    tables = {name: atlas.frame(name) for name in names if atlas.has(name)}
    profiles = tables["profiles"]
    of_tokens = profiles["profile"].str.endswith("token")
    tables["profiles"] = profiles.assign(name=profiles["name"].mask(of_tokens, HOSTILE))
    tables["labels"] = tables["labels"].assign(label=NASTY[1], labelled=True)
    return hs.Atlas({**atlas.description, "model": HOSTILE}, {**tables, "documents": documents})


def test_the_examples_of_the_page_are_the_atlas_s(atlas):
    data = Container(hs.atlas_view(atlas).data.container())
    about = data.header["atlas"]
    columns = {name: data.array(about["examples"][name]) for name in
               ("measure", "decile", "document", "query", "keys", "value", "weights")}  # fmt: skip
    names = [each["name"] for each in about["measures"]]
    numbers = about["examples"]["numbers"]
    start = 0
    for at, count in enumerate(about["counts"]):
        layer, head = divmod(at, data.header["table"]["heads"])
        measure = about["heads"][at]["shown"]
        assert measure == atlas.shown_measure(layer, head)
        mine = np.arange(start, start + count)
        mine = mine[
            (columns["measure"][mine] == names.index(measure)) & (columns["decile"][mine] == 0)
        ]
        truth = atlas.examples(layer, head)
        assert [numbers[int(columns["document"][i])] for i in mine] == list(truth["document"])
        assert list(columns["query"][mine]) == list(truth["query"])
        np.testing.assert_allclose(columns["value"][mine], truth["value"], rtol=1e-6)
        for i, keys, weights in zip(mine, truth["keys"], truth["weights"], strict=True):
            assert list(columns["keys"][i][: len(keys)]) == list(keys)
            np.testing.assert_allclose(columns["weights"][i][: len(keys)], weights, rtol=1e-6)
        start += count


def test_neighbours_deciles_and_evidence_are_the_atlas_s(atlas):
    header = hs.atlas_view(atlas).data.header
    heads = header["table"]["heads"]
    row = next(atlas.frame("labels").itertuples())
    assert f"{row.score:.3f}" in sentence(row)
    assert f"{int(row.documents)} documents" in sentence(row)
    for at, page in enumerate(header["atlas"]["heads"]):
        near = atlas.neighbours(*divmod(at, heads))
        assert [each[:2] for each in page["near"]] == near[["layer", "head"]].to_numpy().tolist()
        deciles = atlas.frame("deciles")
        mine = deciles[(deciles["layer"] == at // heads) & (deciles["head"] == at % heads)]
        for measure, bounds in page["deciles"].items():
            rows = mine[mine["measure"] == measure].sort_values("decile")
            truth = rows[["decile", "low", "high", "share"]].to_numpy(dtype=float)
            np.testing.assert_allclose(bounds, truth, rtol=1e-3, atol=1e-5)


def test_only_an_atlas_has_an_atlas_view(tiny_bert):
    with pytest.raises(BadInput, match=r"hs\.Atlas\.load"):
        hs.atlas_view(tiny_bert.read("the cat sat."))


def test_an_atlas_without_text_shows_places_and_its_page_holds_no_token(tiny_bert, tmp_path):
    corpus = texts(8)
    bare = hs.atlas(tiny_bert, corpus, text=False, top=3, progress=False)
    assert hs.atlas_view(bare).data.header["atlas"]["texts"] is None
    page = bare.page(tmp_path / "atlas.html").read_text("utf-8")
    data = page[: page.index('<script type="module">')]  # what follows is the front end
    told = r"\b(house|tree|green|blue)\b"
    assert re.search(told, str(corpus)) and not re.search(told, data)


@pytest.mark.browser
def test_a_brush_chooses_the_heads_inside_it(show, atlas):
    seen = show(hs.atlas_view(atlas, x="layer", y="head"))
    page = seen.page
    inside = [f"0-{head}" for head in range(atlas.map("entropy").shape[1])]
    boxes = [page.locator(f"[data-point='{name}']").bounding_box() for name in inside]
    left, top = min(b["x"] for b in boxes) - 3, min(b["y"] for b in boxes) - 3
    right = max(b["x"] + b["width"] for b in boxes) + 3
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move(right, max(b["y"] + b["height"] for b in boxes) + 3, steps=4)
    page.mouse.up()
    rows = HEADS_SHOWN.format("[data-row]") + ".map(each => each.dataset.row)"
    assert page.evaluate(rows) == inside
    cells = HEADS_SHOWN.format(".hm-cell.in") + ".map(each => each.dataset.map)"
    assert page.evaluate(cells) == inside
    page.keyboard.press("Escape")
    assert len(page.evaluate(rows)) == atlas.map("entropy").size


@pytest.mark.browser
def test_the_texts_on_screen_are_the_examples(show, atlas):
    page = show(hs.atlas_view(atlas, layer=1, head=1)).page
    truth = atlas.examples(1, 1)
    places = (
        HEADS_SHOWN.format(".at-examples li") + ".map(e => [+e.dataset.document, +e.dataset.query])"
    )
    assert page.evaluate(places) == truth[["document", "query"]].to_numpy().tolist()
    marked = HEADS_SHOWN.format(".at-examples li .query") + ".map(each => each.textContent)"
    expected = [token.removeprefix("##") for token in truth["query_token"]]
    assert [each.removeprefix("##") for each in page.evaluate(marked)] == expected


@pytest.mark.browser
def test_text_that_would_run_is_shown_and_taken_along_as_text(show, hostile):
    seen = show(hs.atlas_view(hostile, layer=1, head=1))
    page = seen.page
    page.on("dialog", lambda dialog: pytest.fail(f"a token ran: {dialog.message}"))
    assert page.locator("img").count() == 0
    shown = page.locator(".at-examples").inner_text()
    assert HOSTILE in shown and NASTY[0] in shown
    assert "\u202e" not in shown and "\\u202e" in shown  # said, not obeyed
    assert len(shown) < 20_000  # a token without end is cut short
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("[data-row='1-1'] button").hover()
    page.locator("circle[data-point='1-1']").hover()
    with page.expect_download() as found:
        page.locator("[data-control=csv]").click()
    rows = found.value.path().read_text("utf-8").splitlines()
    assert re.fullmatch(r"[\w.-]+-heads\.csv", found.value.suggested_filename)
    assert rows[1].split(",")[2].startswith("\"'=HYPERLINK(")  # a quote before it: never a formula
    seen = show(hs.head_scatter(hostile))
    assert seen.page.locator("img").count() == 0 and seen.errors == []


def test_a_text_opened_from_the_atlas_reads_as_it_was_read(atlas, tiny_bert):
    from headscope.surfaces.app.atlas import OpenedAtlas
    from headscope.surfaces.app.models import Models

    models = Models(["tiny"], scopes={"bundled": tiny_bert, "tiny": tiny_bert})
    number = int(atlas.examples(1, 1)["document"].iloc[0])
    found = OpenedAtlas(atlas, models, "tiny").text(number)
    part = tiny_bert.read(found["text"], found["text_pair"]).part()
    assert tuple(part.query.labels) == atlas.document(number).tokens
    with pytest.raises(BadInput, match="has no text 999999"):
        OpenedAtlas(atlas, models, "tiny").text(999999)


@pytest.fixture(scope="module")
def ablation(tiny_bert):
    from headscope.tasks.task import language_task

    texts = [
        "the cat sat on the mat.", "a dog ran to the red house.", "it was in the tree.",
        "one cat and two dog.", "the house was blue.", "the mat was in the red house.",
        "it ran to the green tree.", "two cat sat on it.",
    ]  # fmt: skip
    return hs.ablate(tiny_bert, language_task("words", texts), draws=1000, progress=False)


def test_a_head_s_page_says_what_disabling_it_did(atlas, ablation):
    data = Container(hs.atlas_view(atlas, ablations=ablation).data.container())
    [task] = data.header["atlas"]["ablations"]
    table = data.header["table"]
    column = next(each for each in table["columns"] if each["name"] == task["column"])
    np.testing.assert_allclose(data.array(column), ablation.head_map, rtol=1e-6)
    of_heads = ablation.scores[ablation.scores["disabled"] == "head"]
    for row in of_heads.itertuples():
        page = data.header["atlas"]["heads"][row.layer * table["heads"] + row.head]
        own = (row.score, row.low, row.high, row.p_holm)
        assert page["off"] == [[None if np.isnan(one) else one for one in own]]
    with pytest.raises(BadInput, match=r"hs\.ablate"):
        hs.atlas_view(atlas, ablations=[{"task": "words"}])


@pytest.mark.browser
def test_clusters_layers_and_what_switching_off_does_are_seen_and_linked(show, atlas, ablation):
    seen = show(hs.atlas_view(atlas, layer=1, head=1, ablations=ablation, panels="clusters"))
    page = seen.page
    groups = atlas.frame("groups")
    last = int(groups["group"].max())
    page.locator(f"[data-group='{last}']").click()
    mine = groups[groups["group"] == last]
    names = [f"{row.layer}-{row.head}" for row in mine.itertuples()]
    rows = HEADS_SHOWN.format("[data-row]") + ".map(each => each.dataset.row)"
    cells = HEADS_SHOWN.format(".hm-cell.in") + ".map(each => each.dataset.map)"
    assert page.evaluate(rows) == page.evaluate(cells) == names
    off = page.locator("[data-off]")
    assert f"{ablation.baseline:.3f} with all heads" in off.inner_text()
    page.locator("[data-control=panels]").select_option("layers")
    circles = HEADS_SHOWN.format("circle[data-point]") + ".map(each => each.dataset.point)"
    frames = HEADS_SHOWN.format(".sc-frame") + ".length"
    layers, heads = atlas.map("entropy").shape
    assert page.evaluate(frames) == layers
    assert len(page.evaluate(circles)) == layers * heads
    assert page.evaluate(cells) == names  # what is chosen stays
    assert seen.errors == []


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_walked_by_keyboard_and_axe_finds_nothing(show, atlas, ablation, scheme):
    view = hs.atlas_view(atlas, layer=0, head=1, ablations=ablation)
    seen = show(view, color_scheme=scheme)
    page = seen.page
    found = {}
    for panels in ("heads", "clusters", "layers"):
        seen.set(panels=panels)
        found[panels] = violations(page)
    assert {name: bad for name, bad in found.items() if bad} == {}
    page.locator(".sc-plot").focus()
    page.keyboard.press("ArrowDown")
    page.locator(".at-page h2", has_text="Head 1-1").wait_for()
    page.keyboard.press("Space")
    rows = HEADS_SHOWN.format("[data-row]") + ".map(each => each.dataset.row)"
    assert page.evaluate(rows) == ["1-1"]
    page.keyboard.press("Escape")
    page.locator("[data-row='0-2'] button").focus()
    page.keyboard.press("Enter")
    page.locator(".at-page h2", has_text="Head 0-2").wait_for()
    page.locator("[data-control=typical]").focus()
    page.keyboard.press("Enter")
    assert page.locator("[data-control=typical]").get_attribute("aria-pressed") == "true"
    inside = "document.querySelector('[data-headscope]').shadowRoot.activeElement?.dataset.control"
    assert page.evaluate(inside) == "typical", "the focus stays where it was"


@pytest.mark.browser
def test_a_click_anywhere_in_a_column_s_head_sorts_by_it(show, atlas):
    page = show(hs.atlas_view(atlas, colour="entropy")).page
    head = page.locator("th", has=page.locator("[data-sort=entropy]"))
    box = head.bounding_box()
    beyond = {"x": box["width"] - 12, "y": box["height"] / 2}  # the name, which stands at the left
    head.click(position=beyond)
    values = atlas.map("entropy").values
    order = np.argsort(-values.astype(np.float32), axis=None, kind="stable")
    rows = HEADS_SHOWN.format("[data-row]") + ".map(each => each.dataset.row)"
    named = ["-".join(map(str, divmod(int(at), values.shape[1]))) for at in order]
    assert page.evaluate(rows) == named and head.get_attribute("aria-sort") == "descending"
    head.click(position=beyond)
    assert page.evaluate(rows) == named[::-1] and head.get_attribute("aria-sort") == "ascending"


@pytest.mark.browser
def test_the_number_of_a_layer_stands_beside_its_row_in_a_map_of_many_layers(show):
    scope = tiny_scope("LlamaForCausalLM", num_hidden_layers=30)
    survey = hs.survey(scope, ["the cat sat on the mat"], ["entropy", "confidence"], progress=False)
    seen = show(hs.head_scatter(survey, x="entropy", y="confidence"))
    middles = "m => m.map(e => e.getBoundingClientRect()).map(b => (b.top + b.bottom) / 2)"
    numbers = seen.page.locator(".hm-name").evaluate_all(
        "m => m.map(e => { const r = document.createRange(); r.selectNodeContents(e);"
        " const b = r.getBoundingClientRect(); return (b.top + b.bottom) / 2; })"
    )
    cells = seen.page.locator('[data-map$="-0"]').evaluate_all(middles)
    assert len(cells) == 30 and np.abs(np.subtract(numbers[-30:], cells)).max() < 1.5
