"""Two threads, one model: each sees its own calls, and one without a sink runs undisturbed."""

from __future__ import annotations

import contextlib
import itertools
import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from types import FrameType

import pytest
import torch

from headscope.capture import capture
from tests.capture.recording import Recording, some_ids
from tests.contracts.test_families import state
from tests.tiny import tiny_model

MODELS = {
    "sdpa": ("LlamaForCausalLM", {"num_key_value_heads": 2}),
    "tap": ("DebertaV2ForMaskedLM", {"relative_attention": True, "pos_att_type": ["c2p"]}),
    "family": ("LongformerForMaskedLM", {"attention_window": 4}),
}
ROUNDS = 20


@pytest.fixture(params=MODELS)
def model(request):
    name, options = MODELS[request.param]
    return tiny_model(name, **options)


def at_once(*tasks: Callable[[], None]) -> None:
    """Run tasks in threads that start together; the first error of any comes out."""
    errors: list[BaseException] = []
    gate = threading.Barrier(len(tasks))

    def guarded(task: Callable[[], None]) -> None:
        try:
            gate.wait()
            with torch.no_grad():
                task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_each_thread_has_its_own_sink(model) -> None:
    before = state(model)
    lengths = (6, 9)
    seen = {length: Recording() for length in lengths}

    def look(length: int) -> None:
        for _ in range(ROUNDS):
            with capture(model, seen[length]):
                model(some_ids(length))

    at_once(*(lambda length=length: look(length) for length in lengths))
    for length, recording in seen.items():
        assert [layer for _, layer in recording.places] == [0, 1] * ROUNDS
        queries = {int(call.valid_queries.sum()) for call in recording.calls}
        assert queries == {length}
    assert state(model) == before


def test_a_thread_without_a_sink_runs_undisturbed(model) -> None:
    """The other thread replaces all weights; this one must not notice."""
    ids = some_ids(8)
    before = state(model)
    with torch.no_grad():
        expected = model(ids).logits
    done = threading.Event()

    def replace() -> None:
        try:
            for _ in range(ROUNDS):
                with capture(model, lambda call: torch.zeros_like(call.weights)):
                    assert (model(ids).logits - expected).abs().max() > 1e-3
        finally:
            done.set()

    def undisturbed() -> None:
        rounds = 0
        while not done.is_set() or rounds < ROUNDS:
            found = model(ids).logits
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
            rounds += 1

    at_once(replace, undisturbed)
    assert state(model) == before


def test_a_door_that_closes_before_any_line_of_a_pass() -> None:
    """Another thread opens a door after the masks were made, and closes it before each line that
    the layers run from there on."""
    model, ids = tiny_model("LlamaForCausalLM"), some_ids(8)
    with torch.no_grad():
        expected = model(ids).logits
    door, lines = contextlib.ExitStack(), itertools.count()

    def opens(*_: object) -> None:
        nonlocal lines
        other.submit(door.enter_context, capture(model, lambda call: None)).result()
        lines = itertools.count()
        sys.settrace(traced)

    def traced(frame: FrameType, event: str, _: object) -> Callable[..., object] | None:
        if next(lines) >= closing:
            sys.settrace(None)
            wait([other.submit(door.close)], 0.05)  # later, where the line holds a lock
            return None
        return traced if re.search("headscope|transformers", frame.f_code.co_filename) else None

    before = sys.gettrace()
    hook = model.model.layers[0].register_forward_pre_hook(opens)
    with ThreadPoolExecutor(1) as other, torch.no_grad():
        for closing in itertools.count():
            try:
                logits = model(ids).logits
            finally:
                sys.settrace(before)
            assert torch.equal(logits, expected), closing
            if next(lines) <= closing:  # the pass ended before it
                break
        other.submit(door.close).result()
    hook.remove()
    assert closing > 300


PARTS = ("embed_tokens", "layers.0.self_attn", "layers.1.self_attn", "norm")


@pytest.mark.parametrize("found", ["sdpa", "eager"])
@pytest.mark.parametrize("padded", [False, True])
def test_a_pass_beside_a_door_that_opens_and_closes_anywhere(found: str, padded: bool) -> None:
    """Masks made before, attention computed after, and the other way round: the same bits."""
    model, ids = tiny_model("LlamaForCausalLM"), some_ids(8).repeat(2, 1)
    model.set_attn_implementation(found)
    inputs = {"input_ids": ids}
    if padded:
        inputs["attention_mask"] = torch.ones_like(ids)
        inputs["attention_mask"][1, :3] = 0
    with torch.no_grad():
        expected = model(**inputs).logits
    with ThreadPoolExecutor(1) as other:
        for opened, closed in itertools.combinations(PARTS, 2):
            door = contextlib.ExitStack()

            def opens(*_: object, door: contextlib.ExitStack = door) -> None:
                other.submit(door.enter_context, capture(model, lambda call: None)).result()

            def closes(*_: object, door: contextlib.ExitStack = door) -> None:
                other.submit(door.close).result()

            base = model.model
            hooks = [
                base.get_submodule(opened).register_forward_pre_hook(opens),
                base.get_submodule(closed).register_forward_pre_hook(closes),
            ]
            with torch.no_grad():
                logits = model(**inputs).logits
            for hook in hooks:
                hook.remove()
            assert torch.equal(logits, expected), (opened, closed)
