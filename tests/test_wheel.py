"""The wheel is complete: front end and bundled model inside, no Node needed to use it.

The source archive gives the same wheel, and other Pythons that are here can compile it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tarfile
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


OTHERS = sorted((Path.home() / ".pyenv" / "versions").glob("3.1[2-9].*/bin/python"))


def build(what: str, source: Path, folder: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "build", what, "--no-isolation", "-o", str(folder), str(source)],
        check=True,
        capture_output=True,
        timeout=280,
    )
    return next(folder.glob("headscope-*"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("--wheel", ROOT, tmp_path_factory.mktemp("wheel"))


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
    assert "headscope/surfaces/static/headscope-heads.js" in names
    assert "headscope/models/bundled/model.safetensors" in names
    assert "headscope/models/bundled/bundled.atlas" in names
    source = {path for path in (ROOT / "src" / "headscope").rglob("*") if path.is_file()}
    kept = {path for path in source if "__pycache__" not in path.parts}
    here = {path.relative_to(ROOT / "src").as_posix() for path in kept}
    assert {name for name in names if ".dist-info/" not in name} == here


def test_the_wheel_draws_a_view_with_no_node_on_the_path(fresh: Path, tmp_path: Path) -> None:
    command(fresh, tmp_path, "view", "The cat sat.", "-o", "out.html")
    page = (tmp_path / "out.html").read_text()
    assert "<script" in page and len(page) > 50_000


def test_the_wheel_surveys_a_corpus(fresh: Path, tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("The cat sat on the mat.\n\nIt was asleep.\n")
    command(fresh, tmp_path, "survey", "corpus.txt", "-o", "survey.csv")
    assert "entropy" in (tmp_path / "survey.csv").read_text()


def test_the_wheel_opens_the_app(fresh: Path, tmp_path: Path) -> None:
    server = subprocess.Popen(
        [str(fresh), "-c", calling("app", "--port", "0", "--no-browser")],
        cwd=tmp_path,
        env=alone(fresh),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert server.stdout is not None
        told = server.stdout.readline()
        address = re.search(r"http://\S+", told)
        assert address, told
        with urllib.request.urlopen(address[0], timeout=60) as page:
            assert "headscope" in page.read().decode()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)


def command(python: Path, folder: Path, *arguments: str) -> None:
    """A command of the wheel, in an environment that knows nothing of the checkout."""
    done = subprocess.run(
        [str(python), "-c", calling(*arguments)],
        cwd=folder,
        env=alone(python),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr


def alone(python: Path) -> dict[str, str]:
    environment = {**os.environ, "PATH": str(python.parent), "HF_HUB_OFFLINE": "1"}
    environment.pop("PYTHONPATH", None)
    return {**environment, "PYTHONUNBUFFERED": "1"}


def calling(*arguments: str) -> str:
    return (
        "import headscope, sys; from headscope.cli import main; "
        "assert 'fresh' in headscope.__file__, headscope.__file__; "
        f"sys.argv = {['headscope', *arguments]!r}; main()"
    )


def test_the_wheel_s_metadata_admits_the_pythons_it_names(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(each for each in archive.namelist() if each.endswith("/METADATA"))
        about = archive.read(name).decode()
    assert "Requires-Python: >=3.11" in about
    for version in ("3.11", "3.12", "3.13", "3.14"):
        assert f"Classifier: Programming Language :: Python :: {version}\n" in about


@pytest.mark.slow
def test_the_source_archive_gives_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    archive = build("--sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(archive) as packed:
        names = {name.split("/", 1)[1] for name in packed.getnames()}
        beside = {name for name in names if not name.startswith(("src/headscope/", "web/"))}
        assert beside == {
            "README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", ".gitignore", "PKG-INFO",
        }  # fmt: skip
        packed.extractall(tmp_path, filter="data")
    again = build("--wheel", next(tmp_path.glob("headscope-*")), tmp_path / "again")
    assert contents(again) == contents(wheel)


def contents(wheel: Path) -> dict[str, int]:
    with zipfile.ZipFile(wheel) as archive:
        return {each.filename: each.CRC for each in archive.infolist()}


@pytest.mark.slow
@pytest.mark.parametrize("python", OTHERS, ids=lambda path: path.parts[-3])
def test_other_pythons_compile_the_source(python: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path)}
    source = ROOT / "src" / "headscope"
    subprocess.run(
        [str(python), "-W", "error", "-m", "compileall", "-q", str(source)],
        check=True,
        env=environment,
        capture_output=True,
    )
