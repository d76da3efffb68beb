"""The row kernel in Triton's interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def run(script: str, *arguments: str) -> str:
    """What a script says, in a process of its own: Triton decides at its import how it runs."""
    pytest.importorskip("triton")
    done = subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_whole_rows_and_ranks_equal_the_plain_ones():
    """Every feature of an atlas against the block kernel, rank correlations against scipy, evenness
    against numpy; texts of one part and of two."""
    assert run("interpreted_rows.py").count("equal") == 6


@pytest.mark.slow
def test_so_do_the_fewest_and_the_most_keys_and_a_text_of_one_token():
    assert run("interpreted_rows.py", "edges").count("equal") == 2


@pytest.mark.slow
def test_evenness_of_the_most_keys_in_one_part_and_in_two_is_that_of_numpy():
    assert run("interpreted_rows.py", "most").count("equal") == 1
