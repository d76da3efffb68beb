"""marimo, Streamlit and Gradio show a view, alive, from the example on the page of notebooks."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from tests.browser.hosts import READ, VIEW, example, needed, served

pytestmark = [pytest.mark.browser, pytest.mark.slow]

STREAMLIT = [
    "-m", "streamlit", "run", "app.py", "--server.headless=true", "--server.port={port}",
    "--server.address=127.0.0.1", "--browser.gatherUsageStats=false",
]  # fmt: skip


def reacts(frame: FrameLocator) -> None:
    frame.locator("[data-headscope].hs-ready").wait_for()
    chip = frame.locator('button.chip[data-head="3"]')
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")


def patient(new_page) -> Page:
    page = new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(100_000)  # torch is imported on what may be a busy machine
    return page


def test_streamlit_shows_a_view(new_page, tmp_path: Path) -> None:
    needed("streamlit")
    (tmp_path / "app.py").write_text(f"{READ}\nview = {VIEW}\n{example('Streamlit')}")
    with served(STREAMLIT, tmp_path, "/_stcore/health") as address:
        page = patient(new_page)
        page.goto(address)
        reacts(page.frame_locator("iframe").first)
        page.screenshot(path=tmp_path / "seen.png")


def test_gradio_shows_a_view(new_page, tmp_path: Path) -> None:
    needed("gradio")
    code = f"{READ}\nview = {VIEW}\n{example('Gradio')}"
    (tmp_path / "app.py").write_text(code)
    settings = {"GRADIO_ANALYTICS_ENABLED": "False", "GRADIO_SERVER_PORT": "{port}"}
    with served(["app.py"], tmp_path, "/config", settings) as address:
        page = patient(new_page)
        page.goto(address)
        reacts(page.frame_locator("iframe").first)
        page.screenshot(path=tmp_path / "seen.png")


def test_marimo_shows_a_view_and_a_widget_that_python_hears(new_page, tmp_path: Path) -> None:
    needed("marimo")
    head, shown, live = example("marimo").strip().split("\n")
    cells = [
        f"{READ}\nview = {VIEW}\n{head}\nreturn hs, mo, view",
        f"{shown}\nreturn",
        f"widget = {live}\nwidget\nreturn (widget,)",
        "mo.md(f\"heads now {widget.value['state']['heads']}\")\nreturn",
    ]
    needs = ["", "view", "mo, view", "mo, widget"]
    body = "\n\n".join(
        f"@app.cell\ndef _({names}):\n{textwrap.indent(cell, '    ')}"
        for names, cell in zip(needs, cells, strict=True)
    )
    (tmp_path / "app.py").write_text(f"import marimo\napp = marimo.App()\n\n\n{body}\n")
    run = ["-m", "marimo", "-y", "run", "app.py", "--headless", "--port={port}", "--no-token"]
    with served(run, tmp_path, "/health") as address:
        page = patient(new_page)
        page.goto(address)
        reacts(page.frame_locator("iframe").first)
        page.get_by_text("heads now [1]").wait_for()
        page.locator('button.chip[data-head="2"]').last.click()
        page.get_by_text("heads now [1, 2]").wait_for()
        page.screenshot(path=tmp_path / "seen.png", full_page=True)
