"""Heads over training: one result with a step axis, change points with intervals, resumable."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import headscope as hs
from headscope.checkpoints.change import change_point, stays_from
from headscope.checkpoints.run import in_order
from headscope.cli import build
from headscope.errors import BadInput
from tests.tiny import tiny_model, tiny_tokenizer

TEXTS = ["the cat sat on the mat and the cat sat on the", "a dog saw the cat and a dog saw the"] * 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three steps of a decoder; the last two are the same model."""
    place = tmp_path_factory.mktemp("series")
    for step in (0, 20, 100):
        model = tiny_model("GPT2LMHeadModel")
        if step:
            model.transformer.h[0].attn.c_attn.weight.data.mul_(3)
        model.save_pretrained(place / f"step-{step}")
        tiny_tokenizer().save_pretrained(place / f"step-{step}")
    return place


@pytest.fixture(scope="module")
def found(folder):
    return hs.over_checkpoints(folder, TEXTS, statistics=["entropy"], progress=False)


def test_steps_are_in_order_and_each_equals_a_survey_of_its_own(folder, found):
    assert found.step_numbers == (0, 20, 100)
    for step in found.step_numbers:
        alone = hs.survey(hs.load(folder / f"step-{step}"), TEXTS, ["entropy"], progress=False)
        for layer, head in np.ndindex(2, 4):
            mine = found.series("entropy", layer, head).loc[step]
            assert mine == pytest.approx(float(alone.map("entropy")[layer, head]), abs=1e-6)
    assert {"entropy", "induction", "copying"} <= set(found.measures)


def test_a_head_is_like_itself_where_nothing_was_learned(found):
    alike = found.similarity()
    assert np.allclose(alike[alike["step"] == 100]["value"], 1)
    assert (alike[alike["step"] == 20]["value"] < 0.999).any()


def test_a_stopped_series_resumes_and_reads_finished_steps_no_more(folder, found, tmp_path):
    output = tmp_path / "series.parquet"

    def stop(progress):
        if progress.done == 2:
            raise KeyboardInterrupt

    settings = {"statistics": ["entropy"], "output": output}
    with pytest.raises(hs.Stopped):
        hs.over_checkpoints(folder, TEXTS, progress=stop, **settings)
    kept = {one.name for one in (tmp_path / "series.parquet.partial").iterdir()}
    assert {"step-0.parquet", "step-20.parquet"} <= kept
    again = hs.over_checkpoints(folder, TEXTS, progress=False, **settings)
    np.testing.assert_allclose(again.steps["value"], found.steps["value"], atol=1e-6)
    assert hs.open(output).step_numbers == (0, 20, 100)


def test_a_change_point_is_found_with_an_interval_around_it():
    steps = np.arange(0, 400, 20.0)
    noise = np.random.default_rng(1).normal(0, 0.05, len(steps))
    values = np.where(steps < 160, 0.1, 0.9) + noise
    found = change_point(steps, values)
    assert found is not None and found.step == 160
    assert found.low <= 160 <= found.high and found.high - found.low <= 40
    assert change_point(steps[:3], values[:3]) is None
    assert change_point(steps, np.ones(len(steps))) is None


def test_a_label_that_goes_away_again_did_not_appear():
    steps = np.array([0.0, 10, 20, 30])
    assert stays_from(steps, np.array([False, True, False, True])) == 30
    assert stays_from(steps, np.array([False, True, True, True])) == 10
    assert np.isnan(stays_from(steps, np.array([True, True, True, False])))


def test_names_give_steps():
    assert [step for step, _ in in_order(["m/step-20", "m/step-3"])] == [3, 20]
    assert [step for step, _ in in_order(["early", "late"])] == [0, 1]
    for wrong in (["one"], ["a/step-3", "b/step-3"], "nowhere"):
        with pytest.raises(BadInput):
            in_order(wrong)


def test_the_command_prints_changes_and_draws_lines(folder, tmp_path):
    (tmp_path / "corpus.txt").write_text("\n".join(TEXTS))
    done = CliRunner().invoke(
        build(),
        ["checkpoints", str(folder), "--corpus", str(tmp_path / "corpus.txt"), "-o",
         str(tmp_path / "s.parquet"), "--figure", str(tmp_path / "s.svg")],
        catch_exceptions=False,
    )  # fmt: skip
    assert done.exit_code == 0 and "heads that changed most" in done.output
    assert (tmp_path / "s.svg").read_text().startswith("<?xml")
