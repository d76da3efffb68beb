"""A run keeps what it has, refuses to mix, holds its output alone, and says how to go on."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import numpy as np
import pandas as pd
import pytest
import torch

from headscope.edits.disable import Disabled
from headscope.errors import BadInput, HeadscopeError, Stopped
from headscope.files import atomic_path, write_table, write_tensors
from headscope.runs import Run, State, model_fingerprint, scope_identity
from headscope.runs.run import Progress, words
from tests.tiny import tiny_model, tiny_scope

ABOUT = {"model": "m", "data": "d"}


def count_to(output, stop: int | None = None, identity=ABOUT, size: int = 6, **options):
    """Add up 1 … size; Ctrl-C after `stop` of them."""
    with Run(output, identity, title="Adding", **options) as run:
        part, total, done = run.part("sum"), np.zeros(1), 0
        if (state := part.recall()) is not None:
            total, done = state.arrays["total"], state.position["done"]
        begun = done

        def now() -> State:
            return State({"done": done}, {"total": total})

        for number in range(done + 1, size + 1):
            if stop is not None and number > stop:
                raise KeyboardInterrupt
            with part.step(now):
                total, done = total + number, number
            run.tell(done, size)
        if output is not None:
            with atomic_path(output) as temporary:
                temporary.write_text(str(float(total[0])))
        return float(total[0]), begun


def test_a_stopped_run_goes_on_to_the_same_end_and_leaves_only_its_output(tmp_path):
    output = tmp_path / "sum.txt"
    with pytest.raises(Stopped, match=r"kept in sum.txt.partial\. Run the same command to resume"):
        count_to(output, stop=4)
    assert not output.exists() and (tmp_path / "sum.txt.partial" / "sum.npz").exists()
    assert count_to(output) == (21.0, 4)
    assert [path.name for path in tmp_path.iterdir()] == ["sum.txt"]


def test_another_identity_is_refused_in_a_sentence_that_says_what_differs(tmp_path):
    output = tmp_path / "sum.txt"
    with pytest.raises(Stopped):
        count_to(output, stop=4)
    with pytest.raises(BadInput, match=r"another data and model; resume with the same.*--restart"):
        count_to(output, identity={"model": "other", "data": "other"})
    with pytest.raises(BadInput, match="another model; resume"):
        count_to(output, identity={**ABOUT, "model": "other"})
    assert count_to(output, identity={**ABOUT, "model": "other"}, restart=True) == (21.0, 0)


def test_another_version_does_not_go_on(tmp_path, monkeypatch):
    with pytest.raises(Stopped):
        count_to(tmp_path / "sum.txt", stop=4)
    monkeypatch.setattr("headscope.runs.run.__version__", "9.9")
    with pytest.raises(BadInput, match="another version of headscope"):
        count_to(tmp_path / "sum.txt")


@pytest.mark.parametrize("name", ["run.json", "sum.npz"])
def test_damaged_state_is_told_and_restart_helps(tmp_path, name):
    output = tmp_path / "sum.txt"
    with pytest.raises(Stopped):
        count_to(output, stop=4)
    (tmp_path / "sum.txt.partial" / name).write_text("half a")
    with pytest.raises(BadInput, match=r"cannot be read.*--restart"):
        count_to(output)
    assert count_to(output, restart=True)[0] == 21.0


def test_what_another_version_left_is_told(tmp_path):
    (tmp_path / "sum.txt.partial").write_bytes(b"a file where a folder should be")
    with pytest.raises(BadInput, match="written by another version"):
        count_to(tmp_path / "sum.txt")
    assert count_to(tmp_path / "sum.txt", restart=True)[0] == 21.0


def test_without_anything_kept_the_sentence_says_so(tmp_path):
    with pytest.raises(Stopped, match="before there was anything to keep"):
        count_to(tmp_path / "sum.txt", stop=0)
    with pytest.raises(Stopped, match="without an output nothing is kept"):
        count_to(None, stop=3)
    assert list(tmp_path.iterdir()) == []


def test_an_error_keeps_what_was_done_too(tmp_path):
    output = tmp_path / "sum.txt"

    def fails(progress: Progress) -> None:
        if progress.done == 3:
            raise HeadscopeError("a worker is gone")

    with pytest.raises(HeadscopeError, match="a worker is gone"):
        count_to(output, progress=fails)
    assert count_to(output) == (21.0, 3)


def test_a_refusal_leaves_nothing_but_what_was_there(tmp_path):
    output = tmp_path / "sum.txt"

    def refuses(progress: Progress) -> None:
        if progress.done == 5:
            raise BadInput("the fifth number is no number")

    with pytest.raises(BadInput, match="fifth"):
        count_to(output, progress=refuses)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Stopped):
        count_to(output, stop=4)
    with pytest.raises(BadInput, match="fifth"):
        count_to(output, progress=refuses)
    assert count_to(output)[1] == 5  # what an earlier run kept stays


@pytest.mark.parametrize("mask", [0o022, 0o027])
def test_every_output_has_the_mode_that_the_umask_says(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_tensors({"a": torch.zeros(3)}, tmp_path / "a.safetensors")
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "a.parquet")
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "a.csv")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o666 & ~mask}


def test_an_output_has_one_writer(tmp_path):
    output = tmp_path / "sum.txt"
    with (
        Run(output, ABOUT),
        pytest.raises(HeadscopeError, match="Another run is writing"),
    ):
        count_to(output)
    assert count_to(output)[0] == 21.0


def test_what_a_killed_write_left_is_removed_by_the_next_run(tmp_path):
    output = tmp_path / "sum.txt"
    with pytest.raises(Stopped):
        count_to(output, stop=4)
    left = [tmp_path / ".sum.txt.abcd1234.txt", tmp_path / "sum.txt.partial" / ".sum.npz.x.npz"]
    other = tmp_path / ".sum.txt.notes"  # the user's own
    for path in (*left, other):
        path.write_text("half")
    assert count_to(output)[0] == 21.0
    assert not any(path.exists() for path in left) and other.exists()


def test_ctrl_c_waits_for_the_end_of_a_step(tmp_path):
    """A change is made whole; the interrupt comes after it, and the change is kept."""
    output, seen = tmp_path / "x.txt", []
    with pytest.raises(Stopped), Run(output, ABOUT) as run:
        part = run.part("p")
        with part.step(lambda: State({"seen": seen})):
            seen.append(1)
            os.kill(os.getpid(), signal.SIGINT)
            seen.append(2)
        seen.append("never")
    with Run(output, ABOUT) as run:
        state = run.part("p").recall()
    assert seen == [1, 2] and state is not None and state.position["seen"] == [1, 2]


def test_a_second_ctrl_c_does_not_wait_and_half_a_step_is_not_kept(tmp_path):
    output, seen = tmp_path / "x.txt", []
    with pytest.raises(Stopped), Run(output, ABOUT) as run:
        part = run.part("p")
        part.put(State({"seen": 0}))
        with part.step(lambda: State({"seen": seen})):
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            seen.append("never")
    with Run(output, ABOUT) as run:
        state = run.part("p").recall()
    assert seen == [] and state is not None and state.position["seen"] == 0


def test_ctrl_c_that_compiled_code_takes_for_a_fault_of_its_own_is_a_stop(tmp_path):
    """As safetensors does amid reading a tensor: it raises a ValueError in its place."""
    with pytest.raises(Stopped, match="Run the same command"), Run(tmp_path / "x.txt", ABOUT) as r:
        r.part("p").put(State({"seen": 1}))
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        except KeyboardInterrupt:
            raise ValueError("could not determine the shape") from None


def test_ctrl_c_that_python_drops_in_a_destructor_stops_at_the_next_word_of_progress(tmp_path):
    with pytest.raises(Stopped), Run(tmp_path / "x.txt", ABOUT) as run:
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        run.tell(1, 2)
        raise AssertionError("it went on")


def test_a_finished_table_is_not_computed_again(tmp_path):
    calls = []

    def compute() -> pd.DataFrame:
        calls.append(1)
        return pd.DataFrame({"value": [len(calls)]})

    for _ in range(2):
        with pytest.raises(Stopped), Run(tmp_path / "r.html", ABOUT) as run:
            assert run.table("scores", compute)["value"][0] == 1
            raise KeyboardInterrupt
    assert calls == [1]


def test_a_run_inside_another_tells_of_itself_and_is_taken_up(tmp_path):
    output, told = tmp_path / "outer.txt", []

    def outer(stop: int | None = None) -> tuple[float, int]:
        with Run(output, ABOUT, title="Outer", progress=told.append) as run:
            return count_to(run.place("inner.txt"), stop, progress=run.show)

    with pytest.raises(Stopped, match=r"kept in outer.txt.partial"):
        outer(stop=2)
    assert outer() == (21.0, 2)
    assert {one.title for one in told} == {"Adding", "Adding (resumed)"}
    assert list(tmp_path.iterdir()) == []


def test_a_model_is_known_by_its_weights_and_not_by_its_name():
    one, same = tiny_scope("BertModel"), tiny_scope("BertModel")
    assert scope_identity(one) == scope_identity(same)
    changed = tiny_model("BertModel")
    with torch.no_grad():
        changed.encoder.layer[1].output.dense.weight[-1, -1] += 1e-4  # any value tells
    assert model_fingerprint(changed) != model_fingerprint(one.model)
    renamed = tiny_model("BertModel")
    renamed.config._name_or_path = "elsewhere/checkpoint-500"
    assert model_fingerprint(renamed) == model_fingerprint(one.model)
    assert model_fingerprint(tiny_model("BertModel", num_attention_heads=2)) != model_fingerprint(
        one.model  # the same weights in other heads
    )


def test_tokenising_does_not_change_who_a_tokenizer_is():
    scope = tiny_scope("BertModel")
    before = scope_identity(scope)
    scope.tokenizer("the cat sat", truncation=True, max_length=4, padding="max_length")
    assert scope_identity(scope) == before


def test_edits_that_differ_in_one_weight_are_told_apart():
    weights = np.full((300, 300), 0.1)
    other = weights.copy()
    other[150, 150] = 0.2  # where a printed array has dots
    scope = tiny_scope("BertModel")
    edited = [scope.edited(Disabled("encoder", ((0, 1),), "mean", w)) for w in (weights, other)]
    assert scope_identity(edited[0]) != scope_identity(edited[1])


def test_a_device_is_not_replaced_by_an_output(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(BadInput, match="not an ordinary file"):
        count_to(pipe)
    with pytest.raises(BadInput, match="not an ordinary file"), atomic_path(pipe):
        pass
    assert pipe.is_fifo()


def test_the_bar_says_what_and_how_much():
    assert words(Progress(1, 2, 0, 1234, "Surveying", "loss 0.1")) == (
        "Surveying, 1,234 tokens, loss 0.1"
    )
