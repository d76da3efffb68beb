"""On GPUs each worker has one of its own, as a process of this machine and as an actor of Ray."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import headscope as hs
from headscope.statistics.survey import engines
from headscope.statistics.survey.options import Options
from headscope.statistics.survey.run import Source, _settings
from headscope.statistics.survey.workers import Worker


@pytest.fixture
def on_gpu(tiny_bert: hs.Scope, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, Any]:
    """A scope that says its model lies on a GPU, with settings and a cutter."""
    settings = _settings(tiny_bert, Options(), ())
    cutter = Source(tiny_bert, ["the cat"], Options(), settings, None).cutter
    scope = SimpleNamespace(
        device=torch.device("cuda"), model=tiny_bert.model, tokenizer=tiny_bert.tokenizer,
        name=tiny_bert.name, edits=(),
    )  # fmt: skip
    return scope, settings, cutter


def test_processes_take_the_gpus_in_turn(on_gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(engines, "Processes", lambda make, given: made.append((make, given)))
    engines.on_processes(*on_gpu, workers=3)
    ((make, given),) = made
    assert make is Worker
    assert [device for _, _, _, device, _ in given] == ["cuda:0", "cuda:1", "cuda:0"]
    assert all(one[0].device.type == "cpu" for one in given)  # sent by way of main memory


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


def test_an_actor_of_ray_has_a_gpu_of_its_own(on_gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = _Ray()
    monkeypatch.setitem(sys.modules, "ray", ray)
    spread = engines.on_ray(*on_gpu)
    assert spread.workers == len(ray.started) == 2  # as many as the cluster has GPUs
    assert ray.options["num_gpus"] == 1 and ray.options["num_cpus"] == 1
    assert ray.options["max_restarts"] == ray.options["max_task_retries"] == -1
    assert [given[3] for given in ray.started] == ["cuda:0"] * 2  # Ray shows each its own alone
