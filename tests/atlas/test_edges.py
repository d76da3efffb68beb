"""An atlas of what is seldom met: heads that are off, half precision, very short texts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.circuits.weights.matrices import head_weights, vocabulary
from tests.tiny import tiny_scope

TEXTS = ["the cat sat on the mat", "a dog ran to the house", "one"]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_head_that_is_off_has_places_without_a_key_and_no_profile(tiny_bert, tmp_path):
    off = tiny_bert.without([(0, 1)], mode="zero")
    atlas = hs.atlas(off, TEXTS, top=3, output=tmp_path / "off.atlas", progress=False)
    rows = atlas.examples(0, 1)
    assert len(rows) and rows["key"].eq(-1).all() and rows["key_token"].eq("").all()
    assert rows["keys"].map(len).eq(0).all() and not rows["text"].str.contains("<<").any()
    assert atlas.profiles(0, 1).empty and not atlas.profiles(0, 0).empty
    assert (0, 1) not in set(zip(*(atlas.find(None)[c] for c in ("layer", "head")), strict=True))
    atlas.page(tmp_path / "off.html")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["GPT2LMHeadModel", "BertForPreTraining"])
def test_what_heads_write_is_read_from_weights_in_half_precision(name, dtype):
    """torch's layer norm takes no numbers but those of its own precision."""
    scope, truth = tiny_scope(name), tiny_scope(name)
    scope.model.to(dtype)
    truth.model.load_state_dict(scope.model.state_dict())  # rounded alike
    for made, exact in zip(vocabulary(scope), vocabulary(truth), strict=True):
        torch.testing.assert_close(made, exact, rtol=2e-2, atol=1e-2)
    for made, exact in zip(head_weights(scope).layers, head_weights(truth).layers, strict=True):
        torch.testing.assert_close(made.o, exact.o, rtol=2e-2, atol=1e-2)
        torch.testing.assert_close(made.v, exact.v, rtol=2e-2, atol=2e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        atlas = hs.atlas(scope, TEXTS, top=3, progress=False)
    assert np.isfinite(atlas.profiles(0, 0, "writes")["weight"]).all()
    assert len(atlas.profiles(0, 0, "writes")) == 10
