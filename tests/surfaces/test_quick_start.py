"""The quick-start notebook runs from the first cell to the last."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


@pytest.mark.slow
def test_the_quick_start_runs_and_shows_its_views():
    made = nbformat.read(NOTEBOOKS / "quick-start.ipynb", 4)
    assert not any(cell.get("outputs") for cell in made.cells)  # kept without outputs
    NotebookClient(made, timeout=240, kernel_name="python3").execute()
    shown = [
        output["data"]["text/html"]
        for cell in made.cells
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
    assert sum(html.startswith("<iframe srcdoc=") for html in shown) == 5
