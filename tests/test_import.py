"""`import headscope` is light: torch and transformers wait until something needs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = ("torch", "transformers", "xarray", "pandas", "matplotlib", "scipy", "sklearn")


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


def seconds(module: str) -> float:
    """Of processor time, the least of three: a busy machine only ever makes an import slower."""
    code = (
        "import time; start = time.process_time(); "
        f"import {module}; print(time.process_time() - start)"
    )
    return min(float(run(code)) for _ in range(3))


def test_heavy_libraries_are_not_imported() -> None:
    found = run(f"import sys, headscope; print([m for m in {HEAVY!r} if m in sys.modules])")
    assert found == "[]"


def test_names_are_listed_without_loading_them() -> None:
    found = run("import sys, headscope as hs; print('load' in dir(hs), 'torch' in sys.modules)")
    assert found == "True False"


MOST_MODULES = 130  # ours, after one survey: what a newcomer may have to read


def test_a_survey_opens_few_modules_of_ours(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("The cat sat on the mat. It was warm there.\n" * 8)
    survey = f"hs.survey(hs.load(), {str(corpus)!r}, progress=False)"
    ours = "[name for name in sys.modules if name.partition('.')[0] == 'headscope']"
    found = run(f"import sys, headscope as hs; {survey}; print(len({ours}))")
    assert int(found.splitlines()[-1]) <= MOST_MODULES


def test_import_takes_a_twentieth_of_a_second() -> None:
    assert seconds("headscope") <= 0.05
