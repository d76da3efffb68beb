"""Notebooks: a real JupyterLab and Notebook 7, and an exported notebook opened from disk."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import FrameLocator, Locator, Page, expect
from playwright.sync_api import TimeoutError as TooLate

from tests.browser.hosts import READ, VIEW, needed, served

pytestmark = pytest.mark.browser

WIDGET = f"widget = {VIEW}.widget(); widget"
ATLAS = "from headscope.atlas.bundled import bundled_atlas; atlas = bundled_atlas(); atlas"
ATLAS_WIDGET = "live = hs.atlas_view(atlas).widget(); live"
SCATTER_WIDGET = "hs.head_scatter(atlas).widget()"
CHOSEN = """state = live.state
print(f"atlas now {state['layer']}-{state['head']}", len(state["chosen"]))"""
ASK = 'print("heads now", widget.state["heads"])'


def notebook(*cells: str) -> nbformat.NotebookNode:
    made = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python", "language": "python"}
    return made


def test_an_exported_notebook_opens_from_disk_with_its_views_alive(new_page, tmp_path):
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter

    made = notebook(READ, VIEW, "hs.model_view(reading, labels=())")
    NotebookClient(made, timeout=120, kernel_name="python3").execute()
    path = tmp_path / "exported.html"
    path.write_text(HTMLExporter(template_name="basic").from_notebook_node(made)[0], "utf-8")
    page = new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    first, second = (page.frame_locator("iframe").nth(number) for number in (0, 1))
    first.locator("[data-headscope].hs-ready").wait_for()
    second.locator("[data-headscope].hs-ready").wait_for()
    chip = first.locator('button.chip[data-head="3"]')
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    second.locator('[data-cell="1-2"]').click()
    assert [url for url in asked if re.match(r"https?:|wss?:", url)] == []


@contextlib.contextmanager
def jupyter(module: str, home: Path, made: nbformat.NotebookNode) -> Iterator[str]:
    """A JupyterLab or Notebook of its own, in an empty home, with the notebook look.ipynb."""
    nbformat.write(made, home / "look.ipynb")
    arguments = [
        "-m", module, "--no-browser", "--allow-root", "--port={port}", "--ip=127.0.0.1",
        f"--notebook-dir={home}", "--IdentityProvider.token=", "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    settings = {f"JUPYTER_{name}_DIR": str(home / name) for name in ("CONFIG", "RUNTIME", "DATA")}
    with served(arguments, home, "/api/status", settings) as address:
        yield address


def test_a_cell_in_jupyterlab_shows_the_head_view_and_reacts_to_a_click(new_page, tmp_path):
    with jupyter("jupyterlab", tmp_path, notebook(READ, VIEW, WIDGET, ASK)) as address:
        page = patient(new_page)
        page.goto(f"{address}/lab/tree/look.ipynb?reset")
        page.get_by_text("| Idle").first.wait_for()  # before that, running cells may be ignored
        shows_and_reacts(page, tmp_path)


@pytest.mark.slow
def test_a_cell_in_notebook_7_shows_the_head_view_and_reacts_to_a_click(new_page, tmp_path):
    needed("notebook")
    with jupyter("notebook", tmp_path, notebook(READ, VIEW, WIDGET, ASK)) as address:
        page = patient(new_page)
        page.goto(f"{address}/notebooks/look.ipynb")
        page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for(state="attached")
        shows_and_reacts(page, tmp_path)


@pytest.mark.slow
def test_a_notebook_that_is_not_trusted_shows_static_pictures_and_once_run_is_alive(
    new_page, tmp_path
):
    from nbclient import NotebookClient

    made = notebook(READ, VIEW, ATLAS)
    NotebookClient(made, timeout=120, kernel_name="python3").execute()
    made.cells += notebook(ATLAS_WIDGET, SCATTER_WIDGET, CHOSEN).cells
    with jupyter("jupyterlab", tmp_path, made) as address:
        page = patient(new_page)
        page.goto(f"{address}/lab/tree/look.ipynb?reset")
        picture = page.locator(".jp-OutputArea-output img")
        picture.first.wait_for()
        page.screenshot(path=tmp_path / "seen.png")
        assert picture.count() == 2
        assert page.locator(".jp-OutputArea-output iframe").count() == 0
        for one in picture.all():
            assert one.evaluate("(image) => image.complete && image.naturalWidth") > 200
        page.get_by_text("| Idle").first.wait_for()
        run_all(page)
        framed, widget, scatter = (page.locator(".jp-CodeCell").nth(place) for place in (2, 3, 4))
        walk_the_atlas(page, framed, framed.frame_locator("iframe"))
        walk_the_atlas(page, widget, widget)
        assert scatter.locator("[role=tab]").all_inner_texts() == ["head map", "scatter"]
        in_hand = widget.locator(".at-page h2").inner_text().split()[1]
        the_last_cell_says(page, f"atlas now {in_hand} 6")
        # a widget goes with the notebook's theme
        page.evaluate("document.body.dataset.jpThemeLight = 'false'")
        widget.locator("[data-shade=dark]").first.wait_for()
        page.screenshot(path=tmp_path / "alive.png")


def walk_the_atlas(page: Page, cell: Locator, shown: FrameLocator | Locator) -> None:
    """Hover, draw round heads, choose on the map, open a head, and one that is most like it."""
    shown.locator(".at-table tbody tr").nth(95).wait_for()
    cell.evaluate("(cell) => cell.scrollIntoView()")
    shown.locator(".sc-plot circle").nth(20).hover(force=True)
    shown.locator(".tooltip", has_text="entropy").wait_for()
    shown.locator("[data-control=lasso]").click()
    box = shown.locator(".sc-plot").bounding_box()
    assert box is not None
    corners = [(0.1, 0.1), (0.9, 0.1), (0.9, 0.9), (0.1, 0.9)]
    places = [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in corners]
    drag(page, places)
    expect(shown.locator(".at-table tbody tr")).not_to_have_count(96)
    chosen = shown.locator(".at-table tbody tr").count()
    expect(shown.locator("circle.in")).to_have_count(chosen)
    expect(shown.locator("[data-map].in")).to_have_count(chosen)
    cells = [shown.locator("[data-map]").nth(place).bounding_box() for place in (9, 26)]
    drag(page, [(cell["x"] + 4, cell["y"] + 4) for cell in cells if cell])
    expect(shown.locator(".at-table tbody tr")).to_have_count(6)
    expect(shown.locator("circle.in")).to_have_count(6)
    shown.locator(".at-table tbody tr").nth(2).click()
    heading = shown.locator(".at-page h2")
    like = shown.locator("[data-near]").first
    other = like.get_attribute("data-near")
    like.click()
    shown.locator(".at-page h2", has_text=f"Head {other}").wait_for()
    expect(heading).to_be_focused()
    expect(heading).to_be_in_viewport()


def drag(page: Page, places: Sequence[tuple[float, float]]) -> None:
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=5)
    page.mouse.up()


def patient(new_page) -> Page:
    page = new_page(viewport={"width": 1400, "height": 1800})
    page.set_default_timeout(150_000)  # a kernel and torch start on what may be a busy machine
    return page


def run_all(page: Page) -> None:
    page.locator(".jp-Notebook .jp-CodeCell .jp-Editor").first.click()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def the_last_cell_says(page: Page, text: str) -> None:
    """It is run until it does: a click and the cell that asks for it may overtake each other."""
    last = page.locator(".jp-Notebook .jp-CodeCell").last
    last.locator(".jp-Editor").click()
    for _ in range(30):
        page.keyboard.press("Control+Enter")
        with contextlib.suppress(TooLate):
            last.get_by_text(text).wait_for(timeout=5_000)
            return
    raise AssertionError(f"the notebook never said {text}")


def shows_and_reacts(page: Page, folder: Path) -> None:
    """All cells run; the view and the widget answer to clicks, and Python hears of the latter."""
    run_all(page)
    frame = page.frame_locator(".jp-OutputArea-output iframe")
    frame.locator("[data-headscope].hs-ready").wait_for()
    chip = frame.locator('button.chip[data-head="3"]')
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    # the live widget stands in the notebook itself, and Python sees what was clicked
    live = page.locator('button.chip[data-head="2"]')
    live.click()
    live.and_(page.locator('[aria-pressed="true"]')).wait_for()
    the_last_cell_says(page, "heads now [1, 2]")
    page.screenshot(path=folder / "seen.png")
