"""Kernels against float64: the block path here, the GPU kernel in Triton's interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from headscope.statistics.features.feature import NAMED
from headscope.statistics.features.rows import Rows
from headscope.statistics.kernels import blocks, survey_launch, usable
from headscope.statistics.kernels.blocks import Plan
from headscope.statistics.kernels.blocks import blocks as cut
from headscope.statistics.kernels.recorder import Recorder
from headscope.statistics.kernels.row_launch import rows_of
from headscope.statistics.kernels.scores import block_output, block_weights
from tests.statistics.calls import CASES, Case, make, truth

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_block_kernel_equals_float64(case):
    call, grid, features = make(case)
    plan = Plan(grid, features)
    reduced, output = blocks.from_scores(call, plan, most=4_000)  # several blocks
    expected, expected_output = truth(call, grid, plan.names)
    valid = grid.query.valid
    for place, name in enumerate(plan.names):
        difference = (reduced.values[:, :, place] - expected[name]).abs() * valid[:, None]
        scale = max(1.0, float(expected[name].abs().max()))
        assert float(difference.max()) / scale < 2e-6, name
    assert float(((output - expected_output).abs() * valid[:, :, None, None]).max()) < 5e-3


def test_means_over_queries_are_those_of_float64_whatever_is_asked_beside_them():
    grid = make(CASES[0])[1]
    batch, queries = grid.query.ids.shape
    values = torch.rand(batch, 8, 41, queries, generator=torch.Generator().manual_seed(0)) * 100
    names = [str(number) for number in range(41)]
    heads = [(0, head) for head in range(8)]
    together = Rows(grid, heads, names, values, {}).mean("7")
    alone = Rows(grid, heads, ["7"], values[:, :, 7:8], {}).mean("7")
    chosen = grid.select("all")
    for document in range(batch):
        truth = values[document, :, 7, chosen[document]].double().mean(-1)
        assert float((together[document] - truth).abs().max()) < 1e-12
    assert float((together - alone).abs().max()) < 1e-12


def test_blocks_cover_every_query_once_and_stay_small():
    seen = torch.zeros(5, 37, dtype=torch.int)
    for documents, queries in cut(documents=5, heads=3, queries=37, keys=11, most=400):
        seen[documents, queries] += 1
        size = (documents.stop - documents.start) * (queries.stop - queries.start) * 3 * 11
        assert size <= 400
    assert (seen == 1).all()


def test_a_kernel_that_fails_is_said_once_and_the_plain_one_takes_its_place(monkeypatch):
    """As on a machine without a C compiler, or a GPU with too little memory for a tile."""
    monkeypatch.setattr(usable, "_failed", set())
    monkeypatch.setattr(usable, "installed", lambda: True)
    monkeypatch.setenv("TRITON_INTERPRET", "1")  # so that a kernel is tried on a processor
    asked = []

    def fail(*given):
        asked.append(given)
        raise RuntimeError("Failed to find C compiler.\nMore.")

    monkeypatch.setattr(survey_launch, "from_scores", fail)
    call, grid, features = make(CASES[1])
    recorder = Recorder({grid.kind: grid}, {grid.kind: features}, lambda call: True)
    with pytest.warns(
        RuntimeWarning, match=r"survey kernel.*C compiler\.\); headscope uses the slower plain path"
    ):
        recorder(call)
    recorder(call)
    assert len(asked) == 1
    plan = Plan(grid, features)
    expected = blocks.from_scores(call, plan)[0].values[:, :, 0]
    assert torch.equal(recorder.rows(grid.kind)[plan.names[0]], expected.repeat(1, 2, 1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
def test_weights_made_whole_are_those_made_block_by_block(causal, dtype):
    """As a model lays q, k and v out, grouped and padded, with sinks and without."""
    case = Case("", 3, 4, 2, 20, 12, causal=causal, lengths=(20, 20, 7))
    call, grid, _ = make(case, dtype)
    every = {name: getattr(call, name).transpose(1, 2).contiguous() for name in "qkv"}
    call = replace(call, **{name: of.transpose(1, 2) for name, of in every.items()})
    for sinks, some in ((None, slice(0, 3)), (torch.randn(4), slice(1, 3))):
        one = replace(call, sinks=sinks)
        expected = block_weights(one, grid, some, slice(0, 20))
        output = torch.empty(len(expected), 20, 4, 12, dtype=dtype)
        found = rows_of(one, grid, some, output)
        assert found.is_contiguous()
        # 2e-7 apart here; matrix libraries of CUDA images round the scores before the softmax
        # otherwise, by a few units in the last place of scores of about 10
        torch.testing.assert_close(found, expected, atol=5e-6, rtol=0)
        plain = block_output(one, expected, some)
        # a last bit that differs may round to the next bfloat16, which is 2⁻⁶ away below 4
        rounding = 1e-5 if dtype == torch.float32 else 2**-6
        torch.testing.assert_close(output, plain, atol=rounding, rtol=0)


def test_texts_too_long_for_32_bits_are_left_to_the_plain_kernel():
    call, grid, features = make(CASES[0])
    plan = Plan(grid, features)
    assert survey_launch.fits(call, plan)
    wide = torch.empty(2, 1, 40, 16, device="meta").as_strided((2, 1, 40, 16), (0, 0, 2**26, 1))
    assert not survey_launch.fits(replace(call, q=wide), plan)


@pytest.mark.parametrize(("dtype", "parts"), [("float32", 2), ("float16", 1)])
def test_the_gpu_kernel_equals_float64_in_the_interpreter(dtype, parts):
    """Masks, padding, windows, groups, both directions, each feature, and a row that is no number;
    in a process of its own."""
    pytest.importorskip("triton")
    done = subprocess.run(
        [sys.executable, str(HERE / "interpreted.py"), dtype, str(parts)],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.count("equal") == len(CASES) + 1


def test_a_row_that_is_no_number_is_heard_of_where_no_key_has_a_share_of_it():
    call, grid, _ = make(CASES[0])
    wanted = [NAMED["cls"], NAMED["largest"], NAMED["entropy"]]
    recorder = Recorder({grid.kind: grid}, {grid.kind: wanted}, lambda call: True)
    reduced = blocks.Reduced(Plan(grid, wanted), 2, 1, 40)
    reduced.values.zero_()
    reduced.values[0, 0, 2, 5] = torch.nan  # a kernel sums nothing where no key is marked
    recorder._keep(call, reduced)
    assert recorder.lost[1].tolist() == [True]
