"""The wheel is complete: front end and bundled model inside, no Node needed to use it."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
        timeout=240,
    )
    return next(folder.glob("headscope-*.whl"))


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment with the wheel; the heavy requirements are borrowed, not reinstalled."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder, with_pip=False, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    borrowed = next(path for path in map(Path, sys.path) if (path / "torch").is_dir())
    (site / "borrowed.pth").write_text(f"{borrowed}\n")
    return folder / "bin" / "python"


def test_the_wheel_carries_the_front_end_and_the_bundled_model(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert "headscope/surfaces/static/headscope.js" in names
    assert "headscope/models/bundled/model.safetensors" in names
    assert "headscope/models/bundled/tokenizer.json" in names
    assert not any(name.startswith(("web/", "tests/", "training/")) for name in names)


def test_the_wheel_draws_a_view_with_no_node_on_the_path(fresh: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": str(fresh.parent), "HF_HUB_OFFLINE": "1"}
    environment.pop("PYTHONPATH", None)
    code = (
        "import headscope, sys; from headscope.cli import main; "
        "assert 'fresh' in headscope.__file__, headscope.__file__; "
        "sys.argv = ['headscope', 'view', 'The cat sat.', '-o', 'out.html']; main()"
    )
    done = subprocess.run(
        [str(fresh), "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out.html").read_text()
    assert "<script" in page and len(page) > 50_000
