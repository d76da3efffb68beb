"""The same survey on Ray: the same table, also when a worker is killed in the middle."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

import headscope as hs
from headscope.errors import BadInput, HeadscopeError
from headscope.statistics.statistic import Statistic
from tests.surveys.measuring import same_numbers

ray = pytest.importorskip("ray")
TEXTS = [f"the cat sat on the {word} ." for word in "mat house tree store dog red".split()] * 6


def started(tries: int = 3) -> bool:
    """Ray gives itself 30 s to start, which a busy machine may need three times."""
    for _ in range(tries):
        try:
            ray.init(
                num_cpus=2,
                object_store_memory=80 * 2**20,
                include_dashboard=False,
                log_to_driver=False,
                ignore_reinit_error=True,
            )
            return True
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
            ray.shutdown()
    return False


@pytest.fixture(scope="module")
def cluster():
    if not started():
        pytest.skip("Ray did not start in 90 s: this machine is too busy for it")
    yield
    ray.shutdown()


def on(engine, scope, statistics=("entropy", "previous_word", "cls"), **options):
    options = {"chunk": 5, "distances": True, "progress": False, **options}
    return hs.survey(scope, TEXTS, list(statistics), engine=engine, **options)


def test_ray_gives_the_table_of_one_machine(cluster, tiny_bert):
    here, there = on("local", tiny_bert), on("ray", tiny_bert, workers=2)
    same_numbers(here, there)


@pytest.mark.slow
def test_an_atlas_over_ray_is_the_same_also_when_it_was_stopped(cluster, tiny_bert, tmp_path):
    calls = []

    def stop(progress):
        calls.append(progress)
        if len(calls) == 3:
            raise KeyboardInterrupt

    def made(name, engine, progress=False, **options):
        path = tmp_path / name
        hs.atlas(
            tiny_bert, TEXTS, output=path, engine=engine, chunk=5, progress=progress, **options
        )
        return hs.Atlas.load(path).frame("heads")

    here = made("here.atlas", "local")
    with pytest.raises(hs.Stopped):
        made("stopped.atlas", "ray", stop, workers=2)
    pd.testing.assert_frame_equal(made("stopped.atlas", "ray", workers=2), here, rtol=1e-6)


@pytest.mark.slow  # processes without Ray: test_feeds
def test_a_worker_killed_in_the_middle_changes_nothing(cluster, tiny_bert, tmp_path):
    marker = tmp_path / "killed"

    class Deadly(Statistic):
        """Kills the process that measures it, once (a test of 2024)."""

        name = "deadly"
        unit = "share"
        feature = "self"

        def measure(self, rows, grid):
            if 7 in grid.documents and not Path(marker).exists():
                Path(marker).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return rows.mean("self")

    found = on("ray", tiny_bert, [Deadly()], workers=1)
    assert marker.exists(), "no worker died"
    here = on("local", tiny_bert, [Deadly()])
    pd.testing.assert_series_equal(found.table["value"], here.table["value"], rtol=1e-6)
    assert found.metadata["segments"] == len(TEXTS)


class Slow(Statistic):
    """The share on oneself, at leisure, and who measured it (a test of 2024)."""

    name = "slow"
    unit = "share"
    feature = "self"
    log = ""
    pause = 0.1

    def measure(self, rows, grid):
        with Path(self.log).open("a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(self.pause)
        return rows.mean("self")


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_killed_from_outside_is_replaced(cluster, tiny_bert, tmp_path, workers):
    """Its process is gone at a random moment; the new one needs the model once more."""
    slow = Slow()
    slow.log = str(tmp_path / "log")

    def workers_seen() -> list[int]:
        path = Path(slow.log)
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def kill() -> None:
        while not (seen := workers_seen()):
            time.sleep(0.02)
        seed = int(os.environ.get("HEADSCOPE_SEED", "0"))
        print(f"HEADSCOPE_SEED={seed}")
        time.sleep(random.Random(seed).random() * 0.3)
        os.kill(seen[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    found = on("ray", tiny_bert, [slow], workers=workers)
    killer.join()
    assert len(set(workers_seen())) == workers + 1, "no worker was replaced"
    here = on("local", tiny_bert, ["self_word"])
    pd.testing.assert_series_equal(found.table["value"], here.table["value"], rtol=1e-6)


def shards(folder: Path, count: int) -> Path:
    for number in range(count):
        lines = [f"the cat {n} sat on the {word} ." for n, word in enumerate("mat dog red".split())]
        (folder / f"{number:02}.txt").write_text("\n".join(lines * (1 + number % 3)) + "\n")
    return folder


def over(engine, scope, folder, statistics=("entropy", "previous_word", "cls"), **options):
    options = {"chunk": 5, "batch_tokens": 24, "distances": True, "progress": False, **options}
    return hs.survey(scope, folder, list(statistics), engine=engine, **options)


@pytest.mark.slow  # the same without Ray: test_shards
def test_workers_that_read_their_own_files_give_the_table_of_one_machine(
    cluster, tiny_bert, tmp_path
):
    folder = shards(tmp_path, 12)
    here, there = over("local", tiny_bert, folder), over("ray", tiny_bert, folder, workers=2)
    same_numbers(here, there)
    for name in ("segments", "documents", "tokens", "corpus"):
        assert here.metadata[name] == there.metadata[name]


@pytest.mark.slow
def test_one_of_two_workers_that_read_shards_is_killed_and_nothing_changes(
    cluster, tiny_bert, tmp_path
):
    """Four workers, 64 shards and ten kills: benchmarks/ray_workers.py."""
    (tmp_path / "texts").mkdir()
    folder = shards(tmp_path / "texts", 8)
    here = over("local", tiny_bert, folder, ["self_word"])
    slow = Slow()
    slow.log, slow.pause = str(tmp_path / "log"), 0.1
    killer = threading.Thread(target=_kill_one, args=(slow.log, 0), daemon=True)
    killer.start()
    found = over("ray", tiny_bert, folder, [slow], workers=2)
    killer.join()
    assert len(set(Path(slow.log).read_text().split())) == 3, "no worker was replaced"
    pd.testing.assert_series_equal(found.table["value"], here.table["value"], rtol=1e-6)
    assert found.metadata["segments"] == here.metadata["segments"]


def _kill_one(log: str, seed: int) -> None:
    chance = random.Random(seed)
    while not Path(log).exists():
        time.sleep(0.02)
    time.sleep(chance.random() * 0.5)
    process = int(chance.choice(Path(log).read_text().split()))
    os.kill(process, signal.SIGKILL)


@pytest.mark.slow
def test_what_was_measured_is_kept_when_the_workers_fail_for_good(
    cluster, tiny_bert, tmp_path, monkeypatch
):
    from headscope.surveys import pools

    output, calls = tmp_path / "s.parquet", []
    whole = pools.Ray.result

    def fails(self, task):
        calls.append(1)
        if len(calls) == 4:
            raise HeadscopeError("A Ray worker kept failing.")
        return whole(self, task)

    with monkeypatch.context() as failing:
        failing.setattr(pools.Ray, "result", fails)
        with pytest.raises(HeadscopeError, match="kept failing"):
            on("ray", tiny_bert, workers=1, output=output)
    seen = []
    found = on("local", tiny_bert, output=output, progress=seen.append)
    assert seen[0].segments > 5, "nothing was kept"
    same_numbers(found, on("local", tiny_bert))


def test_a_sentence_raised_by_a_worker_arrives_as_it_was(cluster, tiny_bert):
    class Refusing(Statistic):
        """Refuses (a test of 2024)."""

        name = "refusing"
        unit = "share"
        feature = "self"

        def measure(self, rows, grid):
            raise BadInput("This head refuses; ask another.")

    with pytest.raises(BadInput, match="This head refuses; ask another"):
        on("ray", tiny_bert, [Refusing()], workers=1)
