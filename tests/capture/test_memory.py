"""Streaming holds two layers' maps at most; `output_attentions` holds them all.

`python benchmarks/capture.py` measures the same at 12 × 12 heads and 1024 tokens.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOKENS, LAYERS, HEADS = 384, 6, 2
ONE_MAP = HEADS * TOKENS**2 * 4
ALL_QK = LAYERS * 2 * HEADS * TOKENS * 64 * 4


@pytest.fixture(scope="module")
def benchmark_file() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "capture.py"
    specification = importlib.util.spec_from_file_location("benchmark_of_capture", path)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def peaks(benchmark_file: ModuleType) -> dict[str, int]:
    """Peak bytes above the model for each way of reading, most alike ones in one process."""
    found: dict[str, int] = {}
    for way in benchmark_file.WAYS:
        model = benchmark_file.build(TOKENS, LAYERS, HEADS)
        found[way] = benchmark_file.peak_allocated(
            lambda way=way, model=model: benchmark_file.run(way, model, TOKENS, LAYERS)
        )
    return found


@pytest.mark.parametrize(("way", "kept"), [("stream", 0), ("some", 2 * ONE_MAP)])
def test_at_most_two_layers_maps_are_alive_beside_those_kept(
    peaks: dict[str, int], way: str, kept: int
) -> None:
    assert peaks[way] <= 2 * ONE_MAP + peaks["plain"] + kept


def test_streaming_costs_no_more_than_the_models_own_eager_forward(peaks: dict[str, int]) -> None:
    assert peaks["stream"] <= peaks["eager"] * 1.01


def test_output_attentions_holds_every_layer(peaks: dict[str, int]) -> None:
    assert peaks["output_attentions"] >= LAYERS * ONE_MAP


def test_keeping_q_and_k_makes_no_map(peaks: dict[str, int]) -> None:
    assert peaks["qk"] <= peaks["plain"] + ALL_QK + 0.1 * ONE_MAP
