"""Public names stay what they are, and type checkers judge calls of them rightly."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import headscope as hs
from headscope import front_door
from tests import front_door_stub

ROOT = Path(__file__).parents[1]
IMPORT_ALL = """
import importlib, pkgutil, sys, types
import headscope as hs
names = {name: getattr(hs, name) for name in hs.__all__}
inner = {(package, name): getattr(package, name)
         for package in (hs.circuits, hs.results, hs.studies) for name in package.__all__}
for found in pkgutil.walk_packages(hs.__path__, "headscope."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
shadowed = [n for n in names if getattr(hs, n) is not names[n]]
shadowed += [f"{p.__name__}.{n}" for p, n in inner if getattr(p, n) is not inner[p, n]]
modules = [n for n in hs.__all__ if isinstance(getattr(hs, n), types.ModuleType)]
modules += [n for p, n in inner if isinstance(getattr(p, n), types.ModuleType)]
print(shadowed, sorted(modules))
"""
PACKAGES = ("headscope", "headscope.circuits", "headscope.results", "headscope.studies")
PUBLIC_MODULES = ["circuits", "emphasis", "monitor", "probe", "results", "studies"]


def printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


def test_a_name_is_the_same_before_and_after_every_file_is_imported() -> None:
    assert printed(IMPORT_ALL) == f"[] {PUBLIC_MODULES}"


@pytest.mark.parametrize("path", front_door_stub.STUBS, ids=lambda path: path.parent.name)
def test_a_stub_declares_every_view_and_study_as_it_is(path: Path) -> None:
    assert path.read_text("utf-8") == front_door_stub.stub(path), (
        "run: python -m tests.front_door_stub"
    )


def test_a_name_that_is_not_public_is_missing() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        hs.nonsense  # noqa: B018
    assert "load" in dir(hs) and "mixing" in dir(hs.circuits)


# each line is right as it stands; with the words behind the arrow put in it is wrong
CALLS = [
    ("scope = hs.load(device='cpu')", "device=", "devise="),
    ("reading = scope.read('a', 'b')", ".read(", ".raed("),
    ("view = hs.head_view(reading, layer=2, head=3)", "head=", "hed="),
    ("view = hs.head_view(reading, layer=2, heads=[3, 4])", "heads=", "chosen="),
    ("view = hs.matrix_view(reading, layer=2, heads=[3])", "layer=2", "layer='2'"),
    ("view = hs.image_view(reading, layer=1, head=2)", "layer=", "layr="),
    ("view = hs.text_view(reading, unit='words')", "'words'", "'wrods'"),
    ("table = hs.patterns(scope, 'sample', progress=False).labels", ".labels", ".lables"),
    ("hs.circuits.mixing(scope, text='a')", "text=", "txet="),
    ("hs.circuits.copying(scope).top('copying', 3)", ".top(", ".tpo("),
    ("hs.probe.dependency(scope, 'sample', minimum=5)", "minimum=", "minimun="),
    ("hs.ablate(scope, 'sample', draws=10)", "draws=", "draw="),
    ("hs.compare(scope, scope, 'sample', max_tokens=64)", "max_tokens=", "max_length="),
    ("hs.survey(scope, 'sample', limit=5)", "limit=", "limt="),
    ("hs.atlas(scope, 'sample', top=5)", "top=", "tpo="),
    ("hs.atlas(scope, 'sample', bad_data='skip')", "'skip'", "'skpi'"),
    ("hs.open('r.parquet')", "('r.parquet')", "(file='r.parquet')"),
    ("hs.results.Survey.load('s.parquet').map('entropy')", ".map(", ".mpa("),
    ("hs.attribute(scope, 'a', target='b')", "target=", "targte="),
    ("report = hs.studies.vig(scope, limit=3)", "limit=", "limt="),
    ("hs.studies.kovaleva(scope, finetuned={'RTE': 'tuned'}).save('r.html')", ".save(", ".svae("),
]


def judged(lines: list[str], folder: Path) -> list[int]:
    """The numbers of the lines that pyright finds wrong."""
    script = folder / "calls.py"
    script.write_text("import headscope as hs\n" + "\n".join(lines) + "\n")
    (folder / "pyrightconfig.json").write_text(
        json.dumps({"extraPaths": [str(ROOT / "src")], "include": ["calls.py"],
                    "typeCheckingMode": "standard", "pythonVersion": "3.11"})
    )  # fmt: skip
    done = subprocess.run(
        [Path(sys.executable).parent / "pyright", "--outputjson", "--pythonpath", sys.executable],
        cwd=folder, capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    found = json.loads(done.stdout)["generalDiagnostics"]
    return sorted({one["range"]["start"]["line"] - 1 for one in found})


def test_a_type_checker_judges_right_and_wrong_calls(tmp_path: Path) -> None:
    lines = [right for right, _, _ in CALLS]
    # names come from the right lines alone, so that each wrong one is wrong in one way
    wrong = [right.replace(word, slip).rpartition(" = ")[2] for right, word, slip in CALLS]
    assert not set(lines) & set(wrong)
    found = judged([*lines, *wrong], tmp_path)
    assert found == list(range(len(lines), 2 * len(lines)))


def test_stubs_name_only_what_exists() -> None:
    for package in PACKAGES:
        stub = Path(importlib.import_module(package).__file__ or "").with_suffix(".pyi")
        for name, (module, there) in front_door.stub_names(stub).items():
            home = importlib.import_module(module)
            known = hasattr(home, there) or there in {m.name for m in pkgutil.iter_modules(
                getattr(home, "__path__", []))}  # fmt: skip
            assert known, f"{package}.{name}"
