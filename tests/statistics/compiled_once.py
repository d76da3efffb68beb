"""Which versions of the GPU kernels a run would compile, told by Triton without compiling them or
having a GPU; see test_row_tiles."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import torch
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

import headscope as hs
from headscope.capture import Call
from headscope.patterns import measures as patterns
from headscope.statistics.discovery import discover
from headscope.statistics.features.grid import grids
from headscope.statistics.kernels import fused, pair_divergence, row_tiles
from headscope.statistics.kernels.plan import Plan
from headscope.statistics.places.settings import PlaceSettings
from headscope.statistics.survey.batch_values import features_for
from headscope.statistics.survey.compiling import _example
from headscope.statistics.survey.portion import Settings, text_batches
from headscope.statistics.survey.selection import measurable
from tests.tiny import tiny_scope

asked: set[str] = set()


class Device:
    """An H200 as far as the choice of a version goes."""

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


def hook(*, key: Any, fn: Any, **about: Any) -> bool:
    asked.add(f"{fn.name} {key}")
    return True  # as if another had compiled it: nothing is launched


def versions(*works: Any) -> set[str]:
    asked.clear()
    for work in works:
        work()
    return set(asked)


def of_texts(scope: hs.Scope, settings: Settings, texts: list[str]) -> tuple[Call, Plan]:
    """The first call of a batch as the model makes it."""
    from headscope.corpus.text.segments import Segment

    segments = [Segment(n, n, text) for n, text in enumerate(texts)]
    (batch,) = text_batches(scope, segments, settings)
    on = grids(scope, batch)
    calls: list[Call] = []
    scope.forward(batch.inputs.inputs, calls.append, lazy=True)
    kind = calls[0].kind
    return calls[0], Plan(on[kind], features_for(settings.of("corpus"), on, settings.places)[kind])


driver.set_active(Device())  # pyright: ignore
knobs.runtime.jit_cache_hook = hook
WIDTHS = ([["cat"]], [["cat"] * 50, ["dog"] * 7], [["cat"] * 62], [["mat"] * 99], [["dog"] * 126])

for architecture, options in (
    ("BertForPreTraining", {}),
    ("LlamaForCausalLM", {"num_key_value_heads": 2}),
):
    scope = tiny_scope(architecture, hidden_size=64, **options)
    settings = Settings(tuple(measurable(scope, None)[0]), most_tokens=10**6)
    batches = [of_texts(scope, settings, [" ".join(t) for t in texts]) for texts in WIDTHS]
    launched = versions(*(lambda one=one: fused.from_scores(*one) for one in batches))
    assert all(fused.fits(*one) for one in batches)
    example = _example(scope, settings, 128)
    ahead = versions(partial(fused.compiled, *example))
    assert len(launched) == 1, launched
    assert ahead == launched, (ahead, launched)
    sys.stdout.write(f"{architecture}: once\n")

scope = tiny_scope("BertForPreTraining", hidden_size=64)
judged = (discover()["confidence"], discover()["focus"])
settings = Settings(
    (*measurable(scope, None)[0], *patterns(scope)), most_tokens=10**6,
    places=PlaceSettings(judged, compared=0.1),
)  # fmt: skip
batches = [of_texts(scope, settings, [" ".join(t) for t in texts]) for texts in WIDTHS[2:]]
batches += [of_texts(scope, settings, ["cat " * n] * n) for n in (77, 78, 94)]
works = []
for number, (call, plan) in enumerate(batches):
    if row_tiles.fits(call, plan) and row_tiles.width(plan.grid.key.ids.shape[1]) == 128:
        slots = row_tiles.Slots(torch.zeros(plan.grid.key.ids.shape, dtype=torch.int32), number + 1)
        works.append(lambda one=(call, plan, slots): row_tiles.from_scores(*one))
assert len(works) >= 5
row_tiles.MOST_HELD = 4 * 4 * 128 * 128 + 99  # some documents at a time
launched = versions(*works)
ahead = versions(*(
    lambda n=n: row_tiles.compiled(*_example(scope, settings, n), True) for n in (128, 127)
))  # fmt: skip
assert len(launched) == 2, launched  # rows that are whole lines of memory, and others
assert ahead == launched, (ahead, launched)
sys.stdout.write("whole rows: once\n")

some = [torch.rand(heads, n) for heads, n in ((1, 3), (12, 31), (16, 64), (144, 80))]
launched = versions(*(lambda maps=maps: pair_divergence._summed(maps) for maps in some))
cpu = torch.device("cpu")
ahead = versions(*(partial(pair_divergence.compiled, cpu, count) for count in (16, 17)))
assert len(launched) == 2, launched
assert ahead == launched, (ahead, launched)
sys.stdout.write("pairs of heads: once\n")
