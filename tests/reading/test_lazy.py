"""A reading keeps q and k where maps would be large; what is looked at is made, and exact."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import headscope as hs
from headscope.errors import BadInput
from headscope.reading import Reading
from headscope.reading.collecting import keeping
from headscope.reading.memory import bytes_of, spelled
from headscope.reading.weights import layer as layers
from headscope.reading.weights import lazy
from headscope.reading.weights.held import Bias, Mask
from tests.tiny import tiny_scope

TEXT = "the cat sat on the mat . a dog ran to the store . " * 4


@pytest.fixture
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "SMALL", 0)
    monkeypatch.setattr(lazy, "AT_ONCE", 0)


def test_a_short_reading_keeps_its_maps_and_a_long_one_does_not(
    tiny_gpt2: hs.Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tiny_gpt2.read(TEXT).part().layers[0].has_weights
    monkeypatch.setattr(keeping, "SMALL", 0)
    assert not tiny_gpt2.read(TEXT).part().layers[0].has_weights
    # eight neurons a head: five tokens are fewer numbers as maps
    assert tiny_gpt2.read("the cat sat on the mat").part().layers[0].has_weights


@pytest.mark.usefixtures("nothing_is_small")
def test_selecting_a_head_never_makes_the_rest(
    tiny_llama: hs.Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tiny_llama.read(TEXT, keep=("weights",)).attention.values
    attention = tiny_llama.read(TEXT).attention
    made: list[int] = []
    own = layers.attention_weights

    def counting(q, *rest, **more):
        made.append(q.shape[1] * q.shape[2])
        return own(q, *rest, **more)

    monkeypatch.setattr(layers, "attention_weights", counting)
    chosen = attention.sel(layer=1, head=2)
    assert chosen.dims == ("query", "key")
    assert not made
    np.testing.assert_allclose(chosen.values, whole[1, 2], atol=1e-5)
    assert made == [whole.shape[2]]
    some = attention.isel(layer=[0, 1], head=[3, 0], query=slice(4, 9, 2), key=-1)
    np.testing.assert_allclose(some, whole[:, [3, 0], 4:9:2, -1], atol=1e-5)


@pytest.mark.usefixtures("nothing_is_small")
def test_lazy_attention_is_copied_lazily_and_can_be_written_to(
    tiny_gpt2: hs.Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    attention = tiny_gpt2.read(TEXT).attention
    copies = [attention.copy(), copy.deepcopy(attention), pickle.loads(pickle.dumps(attention))]
    for found in copies[:2]:
        np.testing.assert_array_equal(found.sel(layer=1, head=2), attention.sel(layer=1, head=2))
    copies[0][0, 0, 0, 0] = 9
    assert copies[0][0, 0, 0, 0] == 9 and attention[0, 0, 0, 0] == 1
    np.testing.assert_array_equal(copies[2], attention)
    monkeypatch.setattr(layers.LayerAttention, "head_weights", None)
    copy.deepcopy(attention).sel(layer=0)  # nothing is made


@pytest.mark.usefixtures("nothing_is_small")
def test_all_of_a_large_reading_says_what_it_takes(
    tiny_llama: hs.Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    attention = tiny_llama.read(TEXT).attention
    monkeypatch.setattr("headscope.reading.memory.available", lambda: 80_000)
    with pytest.raises(BadInput, match=r"would take 107\.6 kB.*select a layer or a head first"):
        _ = attention.values
    assert attention.sel(layer=0, head=0).values.shape == (58, 58)


def test_what_does_not_fit_is_refused_before_anything_runs(
    tiny_llama: hs.Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "SMALL", 0)
    assert tiny_llama.description
    monkeypatch.setattr(hs.Scope, "forward", lambda *_, **__: pytest.fail("the model ran"))
    said = r"^This reading would take 107\.6 kB, and 40\.0 kB are allowed; keep q and k instead of "
    with pytest.raises(BadInput, match=said + r"maps with keep='auto' \(22\.3 kB\)"):
        tiny_llama.read(TEXT, keep=("weights",), memory="40kB")
    with pytest.raises(BadInput, match=r"would take 22\.3 kB, and 1\.0 kB are allowed; name fewer"):
        tiny_llama.read(TEXT, memory=1000)
    with pytest.raises(BadInput, match="keep is 'auto' or a list of names"):
        tiny_llama.read(TEXT, keep="everything")
    with pytest.raises(BadInput, match="A size is a number of bytes or a text such as '2GB'"):
        tiny_llama.read(TEXT, memory="much")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.usefixtures("nothing_is_small")
def test_half_precision_is_kept_as_it_is_and_comes_back(dtype: torch.dtype, tmp_path: Path) -> None:
    scope = tiny_scope("LlamaForCausalLM")
    half = hs.load(scope.model.to(dtype), scope.tokenizer)
    reading = half.read(TEXT)
    held = reading.part().layers[0].held["q"]
    assert held.tensor().dtype == dtype
    assert held.nbytes == 4 * 58 * 8 * 2
    own = half.read(TEXT, keep=("weights",)).attention
    np.testing.assert_allclose(reading.attention, own, atol=2e-2)
    reading.save(tmp_path / "r.safetensors")
    back = Reading.load(tmp_path / "r.safetensors")
    assert load_file(tmp_path / "r.safetensors")["decoder.0.q"].dtype == dtype
    assert back.part().nbytes == 0
    np.testing.assert_array_equal(back.attention, reading.attention)


@pytest.mark.usefixtures("nothing_is_small")
def test_a_layer_that_cannot_be_rebuilt_keeps_its_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that adds to its scores what no call carries: the test of a few queries finds it."""
    scope = tiny_scope("GPT2LMHeadModel")
    from transformers.models.gpt2 import modeling_gpt2

    own = modeling_gpt2.eager_attention_forward

    def sharper(module, query, *rest, **more):
        return own(module, query * (2 if module.layer_idx == 1 else 1), *rest, **more)

    monkeypatch.setattr(modeling_gpt2, "eager_attention_forward", sharper)
    whole = scope.read(TEXT, keep=("weights",)).attention
    for reading in (scope.read(TEXT), scope.read(TEXT)):
        assert [one.has_weights for one in reading.part().layers] == [False, True]
        np.testing.assert_allclose(reading.attention, whole, atol=1e-5)


@pytest.mark.usefixtures("nothing_is_small")
def test_edited_heads_keep_the_maps_the_edit_made(tiny_gpt2: hs.Scope) -> None:
    without = tiny_gpt2.without([(1, 2)]).read(TEXT)
    assert without.part().layers[1].has_weights
    np.testing.assert_allclose(without.attention.sel(layer=1, head=2)[9, :10], 0.1, atol=1e-6)


@pytest.mark.usefixtures("nothing_is_small")
def test_words_of_a_lazy_reading_are_lazy_too(tiny_gpt2: hs.Scope) -> None:
    full = tiny_gpt2.read(TEXT, keep=("weights",)).words()
    words = tiny_gpt2.read(TEXT).words()
    assert words.part().nbytes == 0
    np.testing.assert_allclose(
        words.attention.sel(layer=1, head=1), full.attention[1, 1], atol=1e-5
    )


def test_masks_and_biases_are_told_by_their_rule() -> None:
    back = torch.arange(7)[:, None] + 2 - torch.arange(9)
    rules = {
        (None, True): back >= 0,
        (3, True): (back >= 0) & (back < 3),
        (3, False): back.abs() < 3,
    }
    for (window, causal), seen in rules.items():
        found = Mask.of(seen)
        assert found is not None
        assert (found.window, found.causal, found.bits) == (window, causal, None)
        assert torch.equal(found.rows(torch.tensor([2, 5])), seen[[2, 5]])
    odd = (torch.arange(63).view(7, 9) * 7) % 5 > 1
    found = Mask.of(odd)
    assert found is not None
    assert torch.equal(found.rows(), odd)
    assert Mask.of(torch.ones(3, 3, dtype=torch.bool)) is None
    slopes = torch.tensor([0.5, 0.25])[:, None, None]
    alibi = Bias.of(-slopes * back.abs())
    assert alibi.values.shape == (2, 15)
    assert torch.equal(alibi.rows(slice(1, 2), torch.tensor([3])), (-slopes * back.abs())[1:, 3:4])
    assert not Bias.of(torch.rand(2, 7, 9)).relative


def test_sizes_are_written_as_people_write_them() -> None:
    assert [bytes_of(size) for size in ("2GB", "1.5 gb", "300MB", 12, "4kib")] == [
        2_000_000_000,
        1_500_000_000,
        300_000_000,
        12,
        4_000,
    ]
    assert spelled(9_700_000_000) == "9.7 GB"


@pytest.mark.parametrize("architecture", ["BertModel", "LlamaForCausalLM", "BloomForCausalLM"])
def test_a_reading_is_gone_as_soon_as_nobody_holds_it(architecture):
    """In a cycle it would stay until Python looks for one, and large ones would pile up."""
    scope = tiny_scope(architecture)
    scope.read(TEXT)
    gc.collect()
    gc.disable()
    try:
        reading = scope.read(TEXT, keep=("weights", "q", "k"))
        layer = weakref.ref(reading.part().layers[0])
        assert layer() is not None
        del reading
        assert layer() is None
    finally:
        gc.enable()
