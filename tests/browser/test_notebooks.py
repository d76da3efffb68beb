"""Notebooks: a real JupyterLab, and an exported notebook opened from disk."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

pytestmark = pytest.mark.browser

READ = """import numpy as np, headscope as hs
weights = np.zeros((2, 4, 3, 3), dtype="float32"); weights[..., 0] = 1
reading = hs.Reading.from_attention(weights, ["the", "cat", "sat"])"""
VIEW = "hs.head_view(reading, layer=0, heads=[1], labels=())"
WIDGET = "widget = hs.head_view(reading, layer=0, heads=[1], labels=()).widget(); widget"
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
    assert chip.get_attribute("aria-pressed") == "true"
    second.locator('[data-cell="1-2"]').click()
    assert [url for url in asked if re.match(r"https?:|wss?:", url)] == []


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A JupyterLab of its own, in an empty home."""
    home = tmp_path_factory.mktemp("jupyter")
    nbformat.write(notebook(READ, VIEW, WIDGET, ASK), home / "look.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_RUNTIME_DIR": str(home / "run"),
    }
    server = subprocess.Popen(
        [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root",
            f"--port={port}", "--ip=127.0.0.1", f"--notebook-dir={home}",
            "--IdentityProvider.token=", "--LabApp.news_url=None",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        ],
        env={**os.environ, **settings, "JUPYTER_DATA_DIR": str(home / "data")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    for _ in range(240):
        try:
            urllib.request.urlopen(f"{address}/api/status", timeout=2)
            break
        except OSError:
            assert server.poll() is None, "JupyterLab did not start"
            time.sleep(0.25)
    yield address, home
    server.terminate()
    server.wait(20)


def test_a_cell_in_jupyterlab_shows_the_head_view_and_reacts_to_a_click(jupyter, new_page):
    address, _ = jupyter
    page = new_page(viewport={"width": 1400, "height": 1800})
    page.set_default_timeout(150_000)  # a kernel and torch start on what may be a busy machine
    page.goto(f"{address}/lab/tree/look.ipynb?reset")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    page.get_by_text("| Idle").first.wait_for()  # before that, running cells may be ignored
    page.locator(".jp-Notebook .jp-CodeCell .jp-Editor").first.click()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    frame = page.frame_locator(".jp-OutputArea-output iframe")
    frame.locator("[data-headscope].hs-ready").wait_for()
    chip = frame.locator('button.chip[data-head="3"]')
    chip.click()
    assert chip.get_attribute("aria-pressed") == "true"
    # the live widget stands in the notebook itself, and Python sees what was clicked
    live = page.locator('button.chip[data-head="2"]')
    live.click()
    live.and_(page.locator('[aria-pressed="true"]')).wait_for()
    last = page.locator(".jp-Notebook .jp-CodeCell").last
    last.locator(".jp-Editor").click()
    page.keyboard.press("Control+Enter")
    last.get_by_text("heads now [1, 2]").wait_for()
