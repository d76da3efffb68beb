"""An atlas of what is seldom met: heads that are off, half precision, very short texts."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.atlas import make, profiles
from headscope.circuits.weights.matrices import head_weights, vocabulary
from headscope.errors import BadInput
from headscope.statistics.features.grid import Grid
from tests.atlas.alike import check_alike
from tests.tiny import tiny_scope

TEXTS = ["the cat sat on the mat", "a dog ran to the house", "one"]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_head_that_is_off_has_examples_without_a_key_and_no_profile(tiny_bert, tmp_path):
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


def test_what_is_not_counted_of_a_pair_is_told(tiny_bert, corpus, monkeypatch):
    asked = {"chunk": 5, "progress": False, "distances": False}
    monkeypatch.setattr(profiles, "LEAST", 1)
    monkeypatch.setattr(profiles, "TOKENS", 10**4)
    whole = hs.atlas(tiny_bert, corpus, **asked)
    monkeypatch.setattr(make, "ExampleSettings", partial(make.ExampleSettings, pairs=40))
    few = hs.atlas(tiny_bert, corpus, **asked)
    assert "lost" not in whole.description
    lacking = 0
    for layer, head in ((0, 0), (1, 3)):
        lost = few.description["lost"]["encoder"][f"{layer}-{head}"]
        counts = [
            of.profiles(layer, head, "pair").set_index(["name", "other"])["count"]
            for of in (few, whole)
        ]
        assert len(counts[0]) == 40 < len(counts[1])
        lacks = counts[1].reindex(counts[0].index) - counts[0]
        assert lacks.between(0, lost).all()
        lacking += int((lacks > 0).sum())
    assert lacking > 0


@pytest.mark.parametrize("on_gpu", [False, True])
def test_a_stopped_run_without_text_has_no_token_beside_it_either(
    tiny_bert, corpus, tmp_path, monkeypatch, on_gpu
):
    monkeypatch.setattr(Grid, "on_gpu", on_gpu)
    asked = {"chunk": 7, "text": False, "progress": False}
    hs.atlas(tiny_bert, corpus, output=tmp_path / "whole.atlas", **asked)
    calls = []

    def stop(progress):
        calls.append(progress)
        if len(calls) == 3:
            raise KeyboardInterrupt

    output = tmp_path / "stopped.atlas"
    with pytest.raises(hs.Stopped):
        hs.atlas(tiny_bert, corpus, output=output, **asked | {"progress": stop})
    (kept,) = tmp_path.rglob("counts.npz")
    with np.load(kept) as arrays:
        own = [name for name in arrays.files if name.startswith("atlas:")]
        assert any(arrays[name].size for name in own if name.endswith("offsets"))
        of_tokens = [n for n in own if "text" in n or n.endswith((".codes", ".sums"))]
        assert len(of_tokens) > 10 and not any(arrays[name].size for name in of_tokens)
    with pytest.raises(BadInput, match="started with other statistics"):
        hs.atlas(tiny_bert, corpus, output=output, **asked | {"text": True})
    hs.atlas(tiny_bert, corpus, output=output, **asked)
    check_alike(hs.Atlas.load(output), hs.Atlas.load(tmp_path / "whole.atlas"))
