"""The GPU kernels of an atlas, in Triton's interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def test_whole_rows_ranks_and_divergences_equal_the_plain_ones():
    """Every feature of an atlas against the block kernel, rank correlations against scipy,
    divergences of heads against float64; in a process of its own."""
    pytest.importorskip("triton")
    done = subprocess.run(
        [sys.executable, str(HERE / "interpreted_rows.py")],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.count("equal") == 4
