"""Ctrl-C at random moments, a few times each; `python -m tests.runs.stops --times 20` does more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TIMES = os.environ.get("HEADSCOPE_STOPS")
SEED = os.environ.get("HEADSCOPE_SEED", "0")
FEW = ("survey", "ablate")  # a pass over a corpus, a sweep of heads; all others are slow


@pytest.mark.parametrize(
    ("what", "times", "only"),
    [
        ("runs", "1", FEW),
        pytest.param("runs", "3", (), marks=pytest.mark.slow),
        pytest.param("commands", "2", (), marks=pytest.mark.slow),
    ],
)
@pytest.mark.timeout(900)
def test_whatever_is_stopped_at_a_random_moment_goes_on_to_the_undisturbed_result(
    what, times, only
):
    """Exit code 130 and a sentence, nothing left open, and the next run ends alike."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.runs.stops", "--times", TIMES or times, "--seed", SEED,
         "--what", what, "--only", *only],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr[-3000:]
