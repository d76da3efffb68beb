"""Heads over training: one result with a step axis, change points with intervals, resumable."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import headscope as hs
from headscope.checkpoints import files
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


def test_steps_whose_files_are_the_same_are_measured_once(folder, found, monkeypatch):
    opened: list[str] = []

    def load(model, **options):
        opened.append(str(model))
        return hs.load(model, **options)

    monkeypatch.setattr("headscope.checkpoints.run.load", load)
    again = hs.over_checkpoints(folder, TEXTS, statistics=["entropy"], progress=False)
    assert [name.rpartition("-")[2] for name in opened] == ["0", "20"]  # step 100 holds the same
    np.testing.assert_array_equal(again.steps["value"], found.steps["value"])


def test_a_file_that_revisions_share_is_read_once(folder, tmp_path):
    for step in (1, 2):  # as a cache of the hub links to what it holds once
        (tmp_path / f"step-{step}").mkdir()
        for file in (folder / "step-20").iterdir():
            (tmp_path / f"step-{step}" / file.name).symlink_to(file)
    files._of_file.cache_clear()
    assert files.digest(tmp_path / "step-1") == files.digest(tmp_path / "step-2")
    known = files._of_file.cache_info()
    assert known.hits == known.misses
    assert files.digest(folder / "step-0") != files.digest(folder / "step-20")


def test_revisions_of_the_hub_are_folders_of_their_own(folder, found, monkeypatch):
    asked = []

    def fetch(name, revision, **options):
        asked.append((name, revision))
        return str(folder / revision)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    names = ["maker/small@step-20", "maker/small@step-0"]
    again = hs.over_checkpoints(names, TEXTS, statistics=["entropy"], progress=False)
    assert again.step_numbers == (0, 20) and set(asked) == {
        ("maker/small", "step-0"), ("maker/small", "step-20"),
    }  # fmt: skip
    wanted = found.steps[found.steps["step"] < 100]
    np.testing.assert_array_equal(again.steps["value"], wanted["value"])


def test_examples_are_where_a_head_changed_most(folder, found):
    rows = found.examples(TEXTS, 0, 1, n=3)
    assert list(rows["step"]) == [0, 100] * 3
    maps = {
        step: hs.load(folder / f"step-{step}").read(TEXTS[0]).attention.values[0, 1]
        for step in (0, 100)
    }
    moved = np.abs(maps[100] - maps[0]).sum(-1) / 2
    first = rows[rows["document"] == 0]
    assert set(first["query"]) == {int(moved.argmax())}
    assert first["changed"].iloc[0] == pytest.approx(moved.max(), abs=1e-5)
    for row in first.itertuples():
        own = maps[row.step][row.query]
        assert row.key == own.argmax() and row.weight == pytest.approx(own.max(), abs=1e-5)
        assert f"[[{row.query_token}]]" in row.text and f"<<{row.key_token}" in row.text
    with pytest.raises(BadInput, match="no step 7"):
        found.examples(TEXTS, 0, 1, steps=[0, 7])


def test_the_scatter_keeps_its_axes_over_the_steps(found):
    drawn = [found.scatter(step, "entropy", "copying").axes[0] for step in (0, 20)]
    assert drawn[0].get_xlim() == drawn[1].get_xlim() and drawn[0].get_ylim() == drawn[1].get_ylim()
    shown = np.asarray(drawn[1].collections[0].get_offsets())
    wanted = [found.series("entropy", *head).loc[20] for head in np.ndindex(2, 4)]
    np.testing.assert_allclose(np.sort(shown[:, 0]), np.sort(wanted))


def test_a_slow_change_tells_when_it_begins_and_ends():
    steps = np.arange(0, 400, 20.0)
    values = np.clip((steps - 100) / 100, 0, 1)
    found = change_point(steps, values)
    assert found is not None and (found.begins, found.ends) == (100, 200)
    assert found.begins < found.step <= found.ends


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


def test_checkpoints_run_in_the_precision_asked_for(folder, found, monkeypatch, tmp_path):
    asked: list[tuple[object, object]] = []

    def load(model, **options):
        asked.append((options["device"], options["dtype"]))
        return hs.load(model, **options)

    monkeypatch.setattr("headscope.checkpoints.run.load", load)
    monkeypatch.setattr("headscope.checkpoints.examples.load", load)
    (tmp_path / "corpus.txt").write_text("\n".join(TEXTS))
    words = ["--corpus", str(tmp_path / "corpus.txt"), "--device", "cpu", "--dtype", "bfloat16"]
    done = CliRunner().invoke(
        build(),
        ["checkpoints", str(folder), *words, "-o", str(tmp_path / "s.parquet"), "--measure",
         "copying", "--page", str(tmp_path / "s.html")],
        catch_exceptions=False,
    )  # fmt: skip
    assert done.exit_code == 0 and asked == [("cpu", "bfloat16")] * 2  # those that differ
    found.examples(TEXTS, 0, 1, device="cpu", dtype="bfloat16")
    assert asked == [("cpu", "bfloat16")] * 4
    low = hs.open(tmp_path / "s.parquet")
    assert set(low.step_numbers) == set(found.step_numbers)
    apart = np.abs(low.series("entropy", 0, 1) - found.series("entropy", 0, 1)).max()
    assert 0 < apart < 0.05


def test_the_command_prints_changes_and_draws_lines(folder, tmp_path):
    (tmp_path / "corpus.txt").write_text("\n".join(TEXTS))
    done = CliRunner().invoke(
        build(),
        ["checkpoints", str(folder), "--corpus", str(tmp_path / "corpus.txt"), "-o",
         str(tmp_path / "s.parquet"), "--figure", str(tmp_path / "s.svg"), "--measure", "copying",
         "--page", str(tmp_path / "s.html")],
        catch_exceptions=False,
    )  # fmt: skip
    assert done.exit_code == 0 and "heads that changed most" in done.output
    changes = hs.open(tmp_path / "s.parquet").changes("copying")
    assert all(str(changes[name].dtype) == "Int64" for name in ("step", "low", "ends"))
    assert (tmp_path / "s.svg").read_text().startswith("<?xml")
    page = (tmp_path / "s.html").read_text()
    assert page.count("data-frame=") == 3 and 'type="range"' in page
