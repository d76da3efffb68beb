"""The neuron view fits its stage, whatever the size of the head and the width of the window."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.reading import LayerAttention, Part, Reading
from tests.browser.looking import Seen, until

pytestmark = pytest.mark.browser


def reading_of(dim: int) -> Reading:
    rng = np.random.default_rng(dim)
    scope_tokens = hs.load().read("I went to the store and bought fresh strawberries.").part().query
    n = len(scope_tokens)
    q, k = rng.normal(0, 1, (2, 1, n, dim)).astype(np.float32)
    layer = LayerAttention(0, q=q, k=k, scaling=dim**-0.5)
    layer = LayerAttention(0, layer.compute_weights(), q, k, scaling=dim**-0.5)
    return Reading({"encoder": Part("encoder", scope_tokens, scope_tokens, (layer,))}, "made up")


def fits(seen: Seen) -> bool:
    measured = """e => [e.scrollWidth - e.clientWidth, e.getBoundingClientRect().width,
      e.querySelector('canvas').getBoundingClientRect().width]"""
    inside, own, canvas = seen.view().locator(".nv").evaluate(measured)
    return inside <= 1 and canvas <= own + 1


@pytest.mark.parametrize("dim", [32, 64, 128, 256])
def test_nothing_is_clipped_in_the_neuron_view(show, dim) -> None:
    seen = show(hs.neuron_view(reading_of(dim), query=4))
    for width in (1920, 1440, 1024, 390):
        seen.page.set_viewport_size({"width": width, "height": 900})
        assert until(seen.page, lambda: fits(seen)), (dim, width)
    steps = seen.view().locator(".nv-steps li").all_inner_texts()
    assert [step.split()[0] for step in steps] == ["q", "k", "q×k", "q·k", "softmax"]
    assert not seen.errors
