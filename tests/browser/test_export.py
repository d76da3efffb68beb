"""What is exported is what is on screen: one state, drawn twice, compared by its data."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import pytest

import headscope as hs
from headscope.figures.style import description
from headscope.surfaces.app.media import FOLDER
from headscope.views import draw
from tests.atlas.conftest import texts as texts_of_corpus
from tests.browser.states import states
from tests.browser.test_app import address
from tests.browser.test_app_media import address as media_address
from tests.browser.test_app_media import give
from tests.reading.media import vision_models

__all__ = ["address", "media_address"]
pytestmark = pytest.mark.browser
PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")
DESCRIPTION = re.compile(r"<dc:description>(.*?)</dc:description>", re.S)
# The page sets a state, paints it, and gives its own data and the address its export menu has.
LOOK = """async state => {
  const app = document.querySelector('[data-headscope-app]').shadowRoot;
  const host = app.querySelector('.app-view').headscope;
  host.set(state);
  await host.painted();
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  await host.painted();
  const menu = app.querySelector('[data-control="export"]');
  const opened = new Promise(done => menu.addEventListener('toggle', function heard(event) {
    if (event.newState !== 'open') return;
    menu.removeEventListener('toggle', heard);
    done();
  }));
  menu.open = true;
  await opened;  // its links are written for what is on screen then
  const link = menu.querySelector('[data-format="svg"]').getAttribute('href');
  menu.open = false;
  const answer = await fetch(link);
  return {picture: host.picture(), status: answer.status, text: await answer.text()};
}"""


def opened(new_page, address: str, more: str, texts: Sequence[str] = PAIR):
    page = new_page()
    asked = urlencode(dict(zip(("text", "pair"), texts, strict=False)))
    page.goto(f"{address}/?{asked}&{more}")
    page.locator(".app-view.hs-ready").wait_for()
    return page


def look(page, state: dict[str, Any]) -> tuple[dict | None, dict | None]:
    """Both None where the view has nothing to draw of this text, on screen and on paper alike."""
    found = page.evaluate(LOOK, state)
    assert found["status"] == 200 or found["picture"] is None, found["text"]
    described = DESCRIPTION.search(found["text"])
    return found["picture"], json.loads(html.unescape(described[1])) if described else None


def same(page: Any, figure: Any, where: str, share: bool = False) -> None:
    """Equal, numbers to a thousandth: the page's weights are rounded to that."""
    if isinstance(figure, dict):
        assert page.keys() == figure.keys(), where
        for name in figure:
            same(page[name], figure[name], f"{where}.{name}", name in ("lines", "possible"))
    elif isinstance(figure, list) and where.endswith(".strongest"):
        # what is equally strong may stand in either order
        assert [row[-1] for row in page] == pytest.approx([row[-1] for row in figure], abs=2e-3)
        first = figure[0][-1] - figure[1][-1] if len(figure) > 1 else 1
        if figure and abs(first) > 3e-3:
            assert page[0][:-1] == figure[0][:-1], where
    elif isinstance(figure, list) and where.endswith((".dot", ".scaled")):
        for one, two in zip(page, figure, strict=True):  # right to the digits that are written
            digit = 0.1 if abs(two) >= 100 else 0.01 if abs(two) >= 10 else 0.001
            assert one == pytest.approx(two, abs=digit), where
    elif isinstance(figure, list):
        assert len(page) == len(figure), where
        for at, (one, two) in enumerate(zip(page, figure, strict=True)):
            same(one, two, f"{where}[{at}]")
    elif isinstance(figure, float) or share:
        near = math.isclose(
            page, figure, rel_tol=0.03 if share else 4e-3, abs_tol=3 if share else 4e-3
        )
        assert near, f"{where}: {page} on screen, {figure} in the figure"
    else:
        assert page == figure, where


def compared(page, reading, count: int, seed: int, views: Sequence[str] = ()) -> set[str]:
    """Each of these views, or each tab, in turn, drawn twice; those with something to draw."""
    offered = views or page.locator(".app-view [role=tab]").evaluate_all(
        "t => t.map(e => e.dataset.view)"
    )
    seen = set()
    for state in states(reading, offered, count, seed=seed):
        picture, figure = look(page, state)
        assert (picture is None) == (figure is None), f"one of the two says nothing of {state}"
        if picture is not None:
            same(picture, figure, f"{state}\n")
            seen.add(state["view"])
    return seen


# what any reading of a text fills; a decoder has a prediction too
TEXT = {"head", "model", "neuron", "matrix", "text"}  # the head map is the dial beside them
LONG = ("the cat sat on the mat and a dog ran to the store . " * 8).strip()


@pytest.mark.parametrize(
    ("model", "count", "texts", "views"),
    [
        ("tiny", 14, PAIR, TEXT),
        ("writer", 16, PAIR, TEXT | {"prediction"}),
        ("writer", 8, (LONG,), TEXT | {"prediction"}),
    ],
)
def test_the_exported_figure_shows_the_data_of_the_screen(
    new_page, address, tiny_bert, tiny_llama, model, count, texts, views
):
    reading = (tiny_bert if model == "tiny" else tiny_llama).read(*texts)
    page = opened(new_page, address, f"model={model}", texts)
    assert compared(page, reading, count, seed=count) >= views


@pytest.mark.parametrize(
    ("model", "file", "view"), [("digits", "four.png", "image"), ("hears", "tones.wav", "sound")]
)
def test_pictures_and_sounds_are_exported_as_they_are_shaded(
    new_page, media_address, model, file, view
):
    page = new_page()
    page.goto(f"{media_address}/?model={model}")
    give(page, "file", FOLDER / file, "")
    scope = hs.load("digits") if view == "image" else vision_models.wav2vec2()
    given = {"image" if view == "image" else "audio": FOLDER / file}
    assert view in compared(page, scope.read(**given), 6, 3, [view, "head"])


@pytest.mark.parametrize("name", ["atlas", "head_scatter"])
def test_heads_as_points_lie_on_paper_as_on_screen(show, tiny_bert, name):
    atlas = hs.atlas(tiny_bert, texts_of_corpus(12), top=4, progress=False)
    seen = show(hs.atlas_view(atlas) if name == "atlas" else hs.head_scatter(atlas))
    moved = {"x": "layer", "y": "entropy", "layer": 1, "head": 3, "chosen": [6, 1]}
    for change in ({}, moved, {"panels": "clusters"}, {"panels": "layers"}):
        seen.set(**change)
        drawn = draw(name, atlas, seen.state())
        figure = description(drawn)
        del figure["view"]
        planes = [axes for axes in drawn.axes if axes.get_title(loc="left").startswith("layer ")]
        assert len(planes) == (figure["panels"] == "layers") * 2  # as many as the model has layers
        picture = seen.call("m.picture()")
        shown = {each: picture[each] for each in figure}  # examples are not drawn on paper
        same(shown, figure, str(change))


def test_what_heads_move_is_drawn_on_screen_as_on_paper_one_after_another(new_page, address):
    page = opened(new_page, address, "model=writer", ("the cat sat on the mat",))
    at = {"layer": 1, "head": 3, "heads": [3], "query": None}
    for view in ("head", "matrix", "text"):
        shown = {}
        for weighting in ("weight", "norm", "logit", "weight"):
            picture, figure = look(page, {**at, "view": view, "weighting": weighting})
            same(picture, figure, f"{view} {weighting}\n")
            shown[weighting] = json.dumps(picture)
        assert len(set(shown.values())) == 3, view


def test_no_head_on_is_no_head_on_paper(new_page, address):
    page = opened(new_page, address, "model=tiny")
    picture, figure = look(page, {"view": "head", "heads": []})
    same(picture, figure, "no head")


def test_a_difference_is_exported_as_a_difference(new_page, address):
    page = opened(new_page, address, "model=tiny&against=all-on&off=encoder.1.0")
    page.locator(".app-other.hs-ready").wait_for()
    for reading in ("difference", "other", "this"):
        state = {"view": "matrix", "layer": 1, "head": 0, "reading": reading}
        picture, figure = look(page, state)
        assert figure["reading"] == reading
        same(picture, figure, reading)


def test_all_columns_of_the_model_view_are_exported_whatever_head_is_open(new_page, address):
    page = opened(new_page, address, "model=tiny")
    _, figure = look(page, {"view": "model", "heads": [2], "head": 2})
    assert figure["heads"] == [[0, 1, 2, 3], [0, 1, 2, 3]]
