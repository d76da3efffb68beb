"""Every kind of long run: refused where it would mix two models, alone with its output."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

import headscope as hs
from headscope.errors import BadInput, HeadscopeError
from headscope.runs.run import only_writer
from tests.runs.kinds import RUNS, SMALL_STEPS, make_scopes, result


@pytest.fixture(autouse=True)
def small_steps(monkeypatch) -> None:
    for name, value in SMALL_STEPS.items():
        monkeypatch.setattr(name, value)


@pytest.fixture(scope="module")
def scopes() -> dict[str, hs.Scope]:
    return make_scopes()


def stop_at(count: int) -> Callable[[Any], None]:
    seen = 0

    def show(progress: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == count:
            raise KeyboardInterrupt

    return show


@pytest.mark.parametrize("name", RUNS)
def test_another_model_of_the_same_folder_name_is_refused(name, scopes, tmp_path):
    output, go = RUNS[name]
    folder = tmp_path / "o"
    folder.mkdir()
    with pytest.raises(hs.Stopped, match="Run the same command to resume"):
        go(scopes, "", folder / output, progress=stop_at(4))
    before = result(folder)
    with pytest.raises(BadInput, match=r"started with another .*model.*--restart"):
        go(scopes, "other ", folder / output, progress=False)
    assert result(folder) == before  # a refusal harms nothing


@pytest.mark.parametrize("name", RUNS)
def test_every_long_run_holds_its_output_alone(name, scopes, tmp_path):
    output, go = RUNS[name]
    folder = tmp_path / "o"
    folder.mkdir()
    with (
        only_writer(folder / output, folder=True),
        pytest.raises(HeadscopeError, match="Another run is writing"),
    ):
        go(scopes, "", folder / output, progress=False)


@pytest.mark.parametrize("name", [name for name in RUNS if name != "compare"])
def test_weights_that_are_not_numbers_are_refused(name, scopes, tmp_path):
    """No accuracy of 0.32, no survey of two statistics, no model of empty tensors."""
    output, go = RUNS[name]
    folder = tmp_path / "o"
    folder.mkdir()
    broken: dict[str, Any] = {}
    for key in ("BertForPreTraining", "BertForSequenceClassification"):
        model = copy.deepcopy(scopes[key].model)
        with torch.no_grad():
            model.bert.encoder.layer[1].output.dense.weight[3, 3] = float("nan")
        broken[f"broken {key}"] = hs.Scope(model, scopes[key].tokenizer, "broken")
    with pytest.raises(BadInput, match=r"weights that are NaN \(in bert.encoder.layer.1"):
        go(broken, "broken ", folder / output, progress=False)
    assert list(folder.iterdir()) == []
