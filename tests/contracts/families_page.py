"""Print `docs/reference/families.md`: what can be read of each family, found by reading it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import torch

from headscope.capture import Call, capture
from headscope.capture.call import allowed
from tests.contracts.families import FAMILIES, Family
from tests.contracts.family_models import build, inputs
from tests.contracts.media_families import media_page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "families.md"

HEAD = """# What can be read of which family

Every row is a tiny random model of the family, run with padding in its batch. The test
`tests/contracts/test_families.py` holds each to the model's own `output_attentions` (1e-5), to
unchanged outputs (1e-5), to an untouched configuration, and, where q and k can be read, to
softmax(q·kᵀ·scaling + bias + mask) in float64 (1e-4).

How a family is read is found by running it, never from its name:

- **interface**: the family asks transformers for its attention function; ours hands over q, k, v
  and the mask, and the family's own eager function makes the weights;
- **tap**: the family computes attention itself; its softmax is read as it happens. q, k and
  what is added to q·k are read where the family multiplies them, v where it lies ready;
- **family**: the family keeps its weights in a form of its own; one file translates it.

A family that is not listed can be read too, if interface or tap fits it; `headscope models NAME`
prints which one does. Weights can be replaced wherever they are read.

Two are refused with a sentence. The decoder of T5Gemma 2 looks at its own tokens and at the
encoder's in one softmax, so that it has no map of either (its encoder is read by itself). CPM-Ant
puts a learnt prompt before every text, which takes a share of every query's attention.

Two give less than everything. Longformer and the encoder of LED give no v where some tokens look
everywhere: those look at values of another projection. Block-sparse BigBird gives weights alone: it
counts some keys twice in its softmax, which no q and k of a dense map would show.

One shows other weights than its `output_attentions`. Granite with sliding windows (Granite SWA,
also with experts) scales the output of a head by what its sink leaves over, and its own weights do
not tell. Here they do, as those of gpt-oss: rows sum to less than one, and weights times values are
the output (`tests/capture/test_sink_share.py`).

This page is made by `python -m tests.contracts.families_page > docs/reference/families.md`.

| family | attention | read at | weights | q, k, v | positional bias | notes |
|---|---|---|---|---|---|---|
"""


def page(read: Callable[[Family], list[Call]]) -> str:
    return HEAD + "".join(row(family, read(family)) for family in FAMILIES) + media_page()


def read(family: Family) -> list[Call]:
    calls: list[Call] = []
    model = build(family)
    with torch.no_grad(), capture(model, calls.append, scores=True):
        model(**inputs(family))
    return calls


def row(family: Family, calls: list[Call]) -> str:
    kinds = ", ".join(dict.fromkeys(call.kind for call in calls))
    ways = ", ".join(dict.fromkeys(call.read_at for call in calls))
    reads_qk = all(call.q is not None for call in calls)
    bias = "not apart" if not reads_qk else "yes" if any(map(_has_bias, calls)) else "none"
    reads_v = all(call.v is not None for call in calls)
    which = "yes" if reads_qk and reads_v else "q, k" if reads_qk else "no"
    cells = (family.name, kinds, ways, "yes", which, bias, family.notes)
    return "| " + " | ".join(cells) + " |\n"


def _has_bias(call: Call) -> bool:
    mask = call.mask
    return call.bias is not None or (mask is not None and bool(mask[allowed(mask)].any()))


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    print(page(read), end="")
