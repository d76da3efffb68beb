"""A report as it is laid out: figures side by side, whole tables, points that name their heads."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from headscope.figures.of_heads.by_layer import scatter_by_layer
from headscope.studies.clark.drawing import heads_in_plane, lines_by_layer
from headscope.studies.report import Report
from tests.browser.looking import until

pytestmark = pytest.mark.browser
LAYERS, HEADS = 3, 4


@pytest.fixture
def report(tmp_path: Path) -> Path:
    made = Report("A report", "study", "tiny", "headscope study x", settings={"limit": 3})
    section = made.section("Heads", "What was found.")
    values = np.arange(12.0).reshape(LAYERS, HEADS)
    values[1, 2] = np.nan  # not measured: no point, and no name
    names = [f"{layer}-{head}" for layer in range(LAYERS) for head in range(HEADS)]
    plane = np.stack([np.arange(12.0), np.arange(12.0)[::-1]], axis=1)
    section.figure("one", scatter_by_layer(values, "entropy", title="entropy"), "By layer")
    section.figure(
        "two", lines_by_layer({"mean": values[:, 0]}, "mean", {"mean": values[:, 1]}), "Means"
    )
    groups = ["a", "b"] * 6
    section.figure("three", heads_in_plane(plane, groups, [""] * 12, "likeness", names), "Plane")
    wide = pd.DataFrame({f"a long name of column {at}": [0.25, 0.5] for at in range(14)})
    section.table("wide", wide, "A table of many columns")
    return made.save(tmp_path / "report.html")


def test_figures_stand_side_by_side_where_there_is_room(new_page, report):
    for width, across in ((1440, 2), (390, 1)):
        page = new_page(viewport={"width": width, "height": 900})
        page.goto(report.as_uri())
        boxes = [page.locator("figure.drawing").nth(at).bounding_box() for at in (0, 1)]
        side_by_side = boxes[0]["y"] == boxes[1]["y"]
        assert side_by_side == (across == 2)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_wide_table_is_scrolled_by_keyboard_to_its_last_column(new_page, report):
    page = new_page(viewport={"width": 1024, "height": 768})
    page.goto(report.as_uri())
    region = page.locator('.wide[aria-label="A table of many columns"]')
    assert region.evaluate("e => e.scrollWidth > e.clientWidth"), "there is something to scroll"
    region.focus()
    arrived = "e => e.scrollLeft + e.clientWidth >= e.scrollWidth - 1"
    for _ in range(300):  # scrolling is smoothed: how far a key has brought it is seen later
        page.keyboard.press("ArrowRight")
        if region.evaluate(arrived):
            break
    assert until(page, lambda: region.evaluate(arrived))

    def is_whole() -> bool:
        last, frame = region.locator("thead th").last.bounding_box(), region.bounding_box()
        return last["x"] + last["width"] <= frame["x"] + frame["width"] + 1

    assert until(page, is_whole), "the last pixel is scrolled too"
    cut = region.locator("th").evaluate_all("all => all.some(e => e.scrollWidth > e.clientWidth)")
    assert not cut, "no name of a column is cut"


def test_every_point_names_its_head_and_layers_are_whole_numbers(new_page, report):
    page = new_page()
    page.goto(report.as_uri())
    points = page.locator("figure.drawing").first.locator("use > title").all_text_contents()
    measured = [f"head {at // HEADS}-{at % HEADS}" for at in range(12) if at != 6]
    assert points == measured
    plane = page.locator("figure.drawing").nth(2).locator("use > title").all_text_contents()
    assert sorted(plane) == sorted(f"head {at // HEADS}-{at % HEADS}" for at in range(12))
    ids = re.findall(r'\bid="([^"]+)"', report.read_text())
    assert len(ids) == len(set(ids))
    for drawn in (scatter_by_layer(np.ones((7, 2)), "x"), lines_by_layer({"m": np.ones(7)}, "x")):
        low, high = drawn.axes[0].get_xlim()
        ticks = [tick for tick in drawn.axes[0].get_xticks() if low <= tick <= high]
        assert ticks and all(float(tick).is_integer() for tick in ticks), ticks


def test_a_slider_shows_one_figure_at_a_time(new_page, tmp_path):
    made = Report("Steps", "checkpoints", "tiny", "headscope checkpoints")
    shown = {
        f"step {step}": lines_by_layer({"mean": np.arange(3.0) + step}, "mean") for step in range(3)
    }
    made.section("All heads").frames("scatter", shown, "Every head")
    page = new_page()
    page.goto(made.save(tmp_path / "steps.html").as_uri())
    slider, frames = page.locator(".frames input"), page.locator("[data-frame]")
    assert [one.is_visible() for one in frames.all()] == [False, False, True]
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert until(page, lambda: page.locator(".frames output").inner_text() == "step 1")
    assert [one.is_visible() for one in frames.all()] == [False, True, False]
