"""A corpus is cut and measured here, with helpers, or by workers: one table, whoever does it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import headscope as hs
from headscope.errors import BadInput, HeadscopeError
from headscope.statistics.statistic import Statistic
from headscope.surveys import feeds, run
from headscope.surveys.corpus import Cutter
from headscope.surveys.feeds import Helped, Here
from headscope.surveys.loop import Measurer
from headscope.surveys.options import Options
from headscope.surveys.pools import TRIES, Processes, Task, spread
from tests.surveys.fragile import Fragile
from tests.surveys.test_parts_of_files import measured, same, small_parts, texts

__all__ = ["small_parts"]
ROOT = Path(__file__).parents[2]


def fed_by(monkeypatch: pytest.MonkeyPatch, make: Any) -> None:
    """Surveys from now on use the feed that `make` makes of a measurer and a corpus."""

    def feed(scope: Any, corpus: Any, reducers: Any, options: Any) -> Any:
        return make(Measurer(scope, reducers, options.seed), corpus)

    monkeypatch.setattr(run, "feed_for", feed)


def helped(measurer: Measurer, corpus: Any) -> Helped:
    return Helped(measurer, corpus, 2)


def test_text_prepared_by_helpers_gives_the_same_table(
    tiny_bert: hs.Scope, small_parts: None, monkeypatch
) -> None:
    pairs = [
        (a, b) if n % 3 else a
        for n, (a, b) in enumerate(zip(texts(90), texts(90)[::-1], strict=True))
    ]
    here = measured(tiny_bert, pairs)
    fed_by(monkeypatch, helped)
    seen: list[Any] = []
    same(here, measured(tiny_bert, pairs, progress=seen.append))
    assert seen[-1].note == "2 processes prepare text"


def test_text_prepared_ahead_by_a_thread_gives_the_same_table(
    tiny_bert: hs.Scope, small_parts: None, monkeypatch
) -> None:
    here = measured(tiny_bert, texts(60))
    fed_by(monkeypatch, lambda measurer, corpus: Here(measurer, corpus, ahead=True))
    same(here, measured(tiny_bert, texts(60)))


def test_a_survey_fed_by_helpers_resumes_where_it_stopped(
    tiny_bert: hs.Scope, tmp_path: Path, small_parts: None, monkeypatch
) -> None:
    here = measured(tiny_bert, texts(90))
    seen: list[int] = []

    def stop(report: Any) -> None:
        seen.append(report.segments)
        if len(seen) == 8:
            raise KeyboardInterrupt

    output = tmp_path / "s.parquet"
    fed_by(monkeypatch, helped)
    with pytest.raises(hs.Stopped):
        measured(tiny_bert, texts(90), output=output, progress=stop)
    after: list[Any] = []
    there = measured(tiny_bert, texts(90), output=output, progress=after.append)
    same(here, there)
    assert after[0].segments > seen[-2]


@pytest.mark.slow
def test_a_run_of_workers_on_one_stream_resumes_here(tiny_bert: hs.Scope, tmp_path: Path) -> None:
    """Portions of a corpus that is not divided come back in any order; none counts twice."""
    given, output, seen = texts(40), tmp_path / "s.parquet", []

    def stop(report: Any) -> None:
        seen.append(report.segments)
        if len(seen) == 4:
            raise KeyboardInterrupt

    with pytest.raises(hs.Stopped):
        measured(tiny_bert, given, limit=38, workers=2, output=output, progress=stop)
    after: list[Any] = []
    found = measured(tiny_bert, given, limit=38, output=output, progress=after.append)
    assert after[0].segments > seen[-2]
    same(measured(tiny_bert, given, limit=38), found)


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


def test_the_work_of_a_killed_process_is_done_by_another(tmp_path: Path) -> None:
    pool = Processes(Fragile, [(str(tmp_path / "killed"),)])
    try:
        found = list(spread(pool, iter([Task("squares", (0, 5))])))
    finally:
        pool.close()
    assert [(number, square) for _, number, square in found] == [(n, n * n) for n in range(5)]
    assert len({process for process, _, _ in found}) == 2


def test_work_that_kills_every_process_ends_in_a_sentence() -> None:
    pool = Processes(Fragile, [("",)])
    try:
        with pytest.raises(HeadscopeError, match=f"died {TRIES + 1} times"):
            list(spread(pool, iter([Task("squares", (2, 5))])))
    finally:
        pool.close()


def test_a_sentence_raised_by_a_process_comes_here() -> None:
    pool = Processes(Fragile, [("",)])
    try:
        with pytest.raises(BadInput, match="This worker refuses"):
            list(spread(pool, iter([Task("refuses", ())])))
    finally:
        pool.close()


PARENT = """
import sys, time
from headscope.surveys.pools import Processes, Task
from tests.surveys.fragile import Fragile
pool = Processes(Fragile, [("",)] * 2)
for worker in range(2):
    print(pool.submit(worker, Task("squares", (0, 1))).result()[0][0], flush=True)
time.sleep(600)
"""


def test_workers_end_when_their_parent_is_killed() -> None:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"}
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        assert all(map(_lives, workers))
        parent.kill()
        parent.wait()
        end = time.monotonic() + 60
        while any(map(_lives, workers)):
            assert time.monotonic() < end, "orphans go on"
            time.sleep(0.1)


def _lives(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]
    except FileNotFoundError:
        return False
    return state != "Z"


# who measures where


@pytest.fixture
def on_gpu(tiny_bert: hs.Scope) -> SimpleNamespace:
    """A scope that says its model lies on a GPU."""
    return SimpleNamespace(
        device=torch.device("cuda"), model=tiny_bert.model, tokenizer=tiny_bert.tokenizer,
        name=tiny_bert.name, edits=(), encoder_decoder=False,
    )  # fmt: skip


CORPUS = SimpleNamespace(
    cutter=Cutter(None, Options(), None, 4),
    shards=[None] * 100,  # pyright: ignore
)


def test_processes_take_the_gpus_in_turn(on_gpu, monkeypatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    pool = SimpleNamespace(count=3)
    monkeypatch.setattr(feeds, "Processes", lambda make, given: made.extend(given) or pool)
    feeds.feed_for(on_gpu, CORPUS, [], Options(workers=3))
    assert [device for *_, device, _ in made] == ["cuda:0", "cuda:1", "cuda:0"]
    assert all(one[0].device.type == "cpu" for one in made)  # sent by way of main memory


class Reading(Statistic):
    """Looks at the words (a test of 2026)."""

    name, unit, reads_text = "reading", "share", True


def test_a_gpu_is_helped_unless_a_statistic_reads_the_words(on_gpu, monkeypatch) -> None:
    monkeypatch.setattr(feeds, "Processes", lambda make, given: SimpleNamespace(count=len(given)))
    monkeypatch.setattr(feeds, "helpers", lambda: 6)
    assert feeds.feed_for(on_gpu, CORPUS, [], Options()).note == "6 processes prepare text"
    words = run.survey_reducers([Reading()], Options())
    assert isinstance(feeds.feed_for(on_gpu, CORPUS, words, Options()), Here)


def test_where_no_helper_can_be_started_this_process_prepares_the_text(on_gpu, monkeypatch) -> None:
    monkeypatch.setattr(feeds, "helpers", lambda: 2)
    unsent = SimpleNamespace(**{**vars(CORPUS), "cutter": threading.Lock()})
    with pytest.warns(
        RuntimeWarning, match="No process for preparing text could be started"
    ) as said:
        assert isinstance(feeds.feed_for(on_gpu, unsent, [], Options()), Here)
    assert len(said) == 1


class _Ray:
    """What of Ray is asked: a cluster of eight cores and two GPUs."""

    exceptions = SimpleNamespace(RayTaskError=Exception, RayError=Exception)

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.started: list[tuple[Any, ...]] = []

    def is_initialized(self) -> bool:
        return True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 8.0, "GPU": 2.0}

    def put(self, thing: Any) -> Any:
        return thing

    def remote(self, make: Any) -> Any:
        return SimpleNamespace(options=self._with)

    def _with(self, **options: Any) -> Any:
        self.options = options
        return SimpleNamespace(remote=lambda *given: self.started.append(given))


def test_an_actor_of_ray_has_a_gpu_of_its_own(on_gpu, monkeypatch) -> None:
    ray = _Ray()
    monkeypatch.setitem(sys.modules, "ray", ray)
    feed = feeds.feed_for(on_gpu, CORPUS, [], replace(Options(), engine="ray"))
    assert feed.note == "2 workers" and len(ray.started) == 2  # as many as the cluster has GPUs
    assert ray.options["num_gpus"] == 1 and ray.options["num_cpus"] == 1
    assert ray.options["max_restarts"] == ray.options["max_task_retries"] == -1
    assert [given[3] for given in ray.started] == ["cuda:0"] * 2  # Ray shows each its own alone
