"""The same survey on Ray: the same table, also when a worker is killed in the middle."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pandas as pd
import pytest
import torch

import headscope as hs
from headscope.errors import BadInput
from headscope.statistics.statistic import Statistic

ray = pytest.importorskip("ray")
TEXTS = [f"the cat sat on the {word} ." for word in "mat house tree store dog red".split()] * 6


@pytest.fixture(scope="module")
def cluster():
    ray.init(
        num_cpus=2,
        object_store_memory=80 * 2**20,
        include_dashboard=False,
        log_to_driver=False,
        ignore_reinit_error=True,
    )
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # as a worker with one core
    yield
    torch.set_num_threads(before)
    ray.shutdown()


def on(engine, scope, statistics=("entropy", "previous", "cls"), **options):
    options = {"chunk": 5, "distances": True, "progress": False, **options}
    return hs.survey(scope, TEXTS, list(statistics), engine=engine, **options)


def test_ray_gives_the_table_of_one_machine(cluster, tiny_bert):
    here, there = on("local", tiny_bert), on("ray", tiny_bert, workers=2)
    pd.testing.assert_frame_equal(here.table, there.table, check_exact=True)
    assert (here.distances().values == there.distances().values).all()


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
    here = on("local", tiny_bert, ["self"])
    pd.testing.assert_series_equal(found.table["value"], here.table["value"], check_exact=True)
    assert found.metadata["segments"] == len(TEXTS)


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
