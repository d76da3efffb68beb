"""Text for a GPU is prepared by light processes beside it, and the table is the same."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.corpus.text.sharding import shards_of
from headscope.errors import BadInput
from headscope.statistics.discovery import discover
from headscope.statistics.features.grid import Grid
from headscope.statistics.places.heaviest import Heaviest
from headscope.statistics.places.settings import PlaceSettings
from headscope.statistics.survey import run
from headscope.statistics.survey.feeding import fed, helpers
from headscope.statistics.survey.feeding.desk import Desk, Prepared
from headscope.statistics.survey.feeding.helpers import Helpers
from headscope.statistics.survey.options import Options
from headscope.statistics.survey.portion import measure_chunk
from headscope.statistics.survey.workers import Worker
from tests.statistics.test_parts_of_files import measured, same, small_parts, texts

__all__ = ["small_parts"]


def fed_survey(
    scope: hs.Scope, monkeypatch: pytest.MonkeyPatch, corpus: Any, count: int, **options: Any
) -> tuple[hs.Survey, list[fed.Fed]]:
    """A survey whose text is prepared as for a GPU, on any device; and its engine."""
    made = feed(monkeypatch, count)
    return measured(scope, corpus, **options), made


def feed(monkeypatch: pytest.MonkeyPatch, count: int) -> list[fed.Fed]:
    """Have text prepared by so many processes; the engines that are made from now on."""
    made: list[fed.Fed] = []

    def fed_by(scope: Any, settings: Any, options: Any, source: Any) -> fed.Fed:
        made.append(fed.Fed(scope, settings, source.cutter, len(source.shards), count))
        return made[-1]

    monkeypatch.setattr(fed, "FEW", 2)
    monkeypatch.setattr(run, "_fed", fed_by)
    return made


@pytest.mark.parametrize("count", [0, 2])
def test_text_prepared_for_a_gpu_gives_the_same_table(
    tiny_bert: hs.Scope, tmp_path: Path, small_parts: None, monkeypatch, count: int
) -> None:
    pairs = [
        (a, b) if n % 3 else a
        for n, (a, b) in enumerate(zip(texts(90), texts(90)[::-1], strict=True))
    ]
    here = measured(tiny_bert, pairs)
    there, (engine,) = fed_survey(tiny_bert, monkeypatch, pairs, count)
    same(here, there)
    assert engine.helping == count


def test_a_survey_fed_by_processes_goes_on_where_it_stopped(
    tiny_bert: hs.Scope, tmp_path: Path, small_parts: None, monkeypatch
) -> None:
    here = measured(tiny_bert, texts(90))
    seen: list[int] = []

    def stop(report: Any) -> None:
        seen.append(report.segments)
        if len(seen) == 8:
            raise KeyboardInterrupt

    output = tmp_path / "s.parquet"
    given = (tiny_bert, monkeypatch, texts(90), 2)
    with pytest.raises(hs.errors.Stopped):
        fed_survey(*given, output=output, progress=stop)
    after: list[Any] = []
    there, (engine,) = fed_survey(*given, output=output, progress=after.append)
    same(here, there)
    assert after[0].segments > seen[-2] and engine.helping == 2


def noted_keys(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The places whose keys are looked up together from now on."""
    looked_up: list[list[int]] = []
    look_up = Heaviest.__call__

    def noted(self: Heaviest, codes: Any) -> Any:
        looked_up.append(codes.tolist())
        return look_up(self, codes)

    monkeypatch.setattr(Heaviest, "__call__", noted)
    return looked_up


@pytest.mark.parametrize(("name", "on_gpu"), [("tiny_bert", False), ("tiny_llama", True)])
def test_an_atlas_whose_text_is_prepared_beside_it_is_the_same_file(
    request: Any, tmp_path: Path, small_parts: None, monkeypatch, name: str, on_gpu: bool
) -> None:
    """Pairs and single texts, several batches in a portion and several portions in a shard; counted
    as a processor and as a GPU counts. The second is stopped on the way and goes on, and looks up
    the same keys together: on a GPU a weight's last bit may depend on that."""
    monkeypatch.setattr(Grid, "on_gpu", on_gpu)
    looked_up = noted_keys(monkeypatch)
    scope = request.getfixturevalue(name)
    second = texts(60)[::-1]
    pairs = [(a, second[n]) if n % 3 else a for n, a in enumerate(texts(60))]
    asked = {"top": 4, "chunk": 8, "batch_tokens": 128, "max_tokens": 32, "progress": False}
    monkeypatch.setattr(sys, "argv", ["headscope"])
    hs.atlas(scope, pairs, output=tmp_path / "here.atlas", **asked)
    here = looked_up.copy()
    engines = feed(monkeypatch, 1)

    def stop(report: Any) -> None:
        assert gc.get_freeze_count() > 0  # what was there before is not looked through for garbage
        if report.segments > 30:
            raise KeyboardInterrupt

    with pytest.raises(hs.errors.Stopped):
        hs.atlas(scope, pairs, output=tmp_path / "there.atlas", **asked | {"progress": stop})
    looked_up.clear()
    hs.atlas(scope, pairs, output=tmp_path / "there.atlas", **asked)
    assert 0 < len(looked_up) < len(here) and looked_up == here[-len(looked_up) :]
    assert (tmp_path / "here.atlas").read_bytes() == (tmp_path / "there.atlas").read_bytes()
    assert [engine.helping for engine in engines] == [1, 1]
    assert gc.get_freeze_count() == 0


def test_a_model_is_told_from_others_only_where_something_is_kept(
    tiny_bert: hs.Scope, tmp_path: Path, monkeypatch
) -> None:
    """Which takes a pass over all its weights."""
    asked: list[Any] = []
    told = run.scope_identity
    monkeypatch.setattr(run, "scope_identity", lambda scope: asked.append(scope) or told(scope))
    measured(tiny_bert, texts(5))
    assert not asked
    measured(tiny_bert, texts(5), output=tmp_path / "s.parquet")
    assert asked == [tiny_bert]


def test_what_prepares_text_imports_neither_torch_nor_transformers() -> None:
    code = f"import sys; import {helpers.__name__}; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "transformers", "pandas", "scipy"} & set(shown.stdout.split())


def desk_of(scope: hs.Scope, corpus: list[str], **options: Any) -> tuple[Desk, list[Any]]:
    chosen = Options(max_tokens=32, chunk=4, **options)
    settings = run._settings(scope, chosen, ())
    cutter = run.Source(scope, corpus, chosen, settings, None).cutter
    return Desk.of(scope, settings, cutter), shards_of(corpus, cutter.reader) or []


def equal(one: Prepared, other: Prepared) -> bool:
    return one.digest == other.digest and all(
        np.array_equal(a.data, b.data) and a.arrays == b.arrays and a.read == b.read
        for a, b in zip(one.batches, other.batches, strict=True)
    )


def test_the_work_of_a_killed_process_is_done_by_another(
    tiny_bert: hs.Scope, small_parts: None
) -> None:
    desk, shards = desk_of(tiny_bert, texts(60))
    truth = list(desk.prepared(shards[0], 0))
    pool = Helpers(desk, 1)
    try:
        found = [pool.result(pool.submit(0, "prepare", shards[0], 0))]
        os.kill(pool._made[0][0].pid, signal.SIGKILL)
        for first in range(1, len(truth)):
            task = pool.submit(0, "prepare", shards[0], first)
            if first == 2:
                os.kill(pool._made[0][0].pid, signal.SIGKILL)
            assert pool.wait([task]) == [task]
            found.append(pool.result(task))
    finally:
        pool.close()
    assert len(truth) > 3 and all(map(equal, found, truth))


def test_where_no_process_can_be_started_text_is_prepared_here(
    tiny_bert: hs.Scope, small_parts: None, monkeypatch
) -> None:
    def refused(*given: Any, **more: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(helpers.tempfile, "TemporaryFile", refused)
    here = measured(tiny_bert, texts(60))
    there, (engine,) = fed_survey(tiny_bert, monkeypatch, texts(60), 2)
    same(here, there)
    assert engine.helping == 0


def test_a_sentence_raised_by_a_process_comes_here(tiny_bert: hs.Scope, small_parts: None) -> None:
    desk, shards = desk_of(tiny_bert, ["the cat", "", *texts(60)], bad_data="refuse")
    pool = Helpers(desk, 1)
    try:
        with pytest.raises(BadInput, match="document 2"):
            pool.result(pool.submit(0, "prepare", shards[0], 0))
    finally:
        pool.close()


def test_a_worker_with_a_gpu_looks_up_the_same_keys_whatever_it_read_before(
    tiny_bert: hs.Scope, small_parts: None, monkeypatch
) -> None:
    chosen = Options(max_tokens=32, chunk=4)
    judged = (discover()["confidence"],)
    places = PlaceSettings(judged, top=4, sample=16)
    settings = replace(run._settings(tiny_bert, chosen, judged), places=places)
    source = run.Source(tiny_bert, texts(60), chosen, settings, None)
    looked_up = noted_keys(monkeypatch)

    def keys_of(shards: list[Any], first: int = 0, so_far: Any = None) -> Any:
        worker = Worker(tiny_bert, settings, source.cutter, "cpu", 1)
        worker._forgets = True
        for shard in shards:
            looked_up.clear()
            worker.measure_shard(shard, first, so_far)
        return looked_up.copy()

    alone = keys_of(source.shards[1:2])
    assert len(alone) > 2 and keys_of(source.shards[:2]) == alone
    portions = source.cutter.of_shard(source.shards[1], tiny_bert.tokenizer).portions()
    settings.places.horizon.forget()
    so_far = measure_chunk(tiny_bert, next(portions), settings)
    left = keys_of(source.shards[1:2], 1, so_far)  # one that was started anew
    assert left == alone[-len(left) :] and 0 < len(left) < len(alone)
