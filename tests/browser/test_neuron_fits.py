"""The neuron view fits its stage, whatever the size of the head and the width of the window."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Locator

import headscope as hs
from headscope.reading import LayerAttention, Part, Reading
from headscope.surfaces.app import Models, create_app
from tests.browser.looking import until
from tests.browser.serving import served
from tests.tiny import tiny_scope

pytestmark = pytest.mark.browser


def reading_of(dim: int) -> Reading:
    rng = np.random.default_rng(dim)
    scope_tokens = hs.load().read("I went to the store and bought fresh strawberries.").part().query
    n = len(scope_tokens)
    q, k = rng.normal(0, 1, (2, 1, n, dim)).astype(np.float32)
    layer = LayerAttention(0, q=q, k=k, scaling=dim**-0.5)
    layer = LayerAttention(0, layer.compute_weights(), q, k, scaling=dim**-0.5)
    return Reading({"encoder": Part("encoder", scope_tokens, scope_tokens, (layer,))}, "made up")


def fits(view: Locator) -> bool:
    """Neither the view nor its canvas is wider than the stage."""
    measured = """e => [e.scrollWidth - e.clientWidth,
      e.querySelector('canvas').getBoundingClientRect().right - e.getBoundingClientRect().right,
      e.getBoundingClientRect().right - e.closest('.stage').getBoundingClientRect().right]"""
    return max(view.evaluate(measured)) <= 1


@pytest.mark.parametrize("dim", [32, 64, 128, 256])
def test_nothing_is_clipped_in_the_neuron_view(show, dim) -> None:
    seen = show(hs.neuron_view(reading_of(dim), query=4))
    for width in (1920, 1440, 1024, 390):
        seen.page.set_viewport_size({"width": width, "height": 900})
        assert until(seen.page, lambda: fits(seen.view().locator(".nv"))), (dim, width)
    steps = seen.view().locator(".nv-steps li").all_inner_texts()
    assert [step.split()[0] for step in steps] == ["q", "k", "q×k", "q·k", "softmax"]
    assert not seen.errors


def test_nothing_is_clipped_beside_the_dial_where_neurons_turn_in_pairs(new_page) -> None:
    dims = (32, 64, 128, 256)
    scopes = {f"d{dim}": tiny_scope("LlamaForCausalLM", head_dim=dim) for dim in dims}
    with served(create_app(Models([*scopes], scopes=scopes))) as where:
        page = new_page()
        for name in scopes:
            asked = f"model={name}&text=one+red+house+and+a+dog&view=neuron&layer=1&head=0&query=4"
            for sort in ("", "&sort=contribution"):
                page.goto(f"{where}/?{asked}{sort}")
                page.locator(".app-view.hs-ready").wait_for()
                view = page.locator(".app-view .nv")
                for width in (1920, 1440, 1024, 390):
                    page.set_viewport_size({"width": width, "height": 900})
                    assert until(page, lambda view=view: fits(view)), (name, sort, width)
