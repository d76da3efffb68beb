"""Attention that others dumped opens as a reading; what is missing is named."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

import headscope as hs
from headscope.errors import BadInput

TOKENS = ["the", " cat", " <b>", " ❤"]


@pytest.fixture(scope="module")
def attention() -> np.ndarray:
    made = np.tril(np.random.default_rng(0).random((3, 2, 4, 4))).astype(np.float32)
    return made / made.sum(-1, keepdims=True)


def test_a_npz_file_opens_as_a_reading(attention, tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, attention=attention, tokens=np.array(TOKENS))
    reading = hs.open(path)
    assert list(reading.part().key.labels) == TOKENS and reading.part().kind == "decoder"
    np.testing.assert_allclose(reading.attention.to_numpy(), attention, atol=1e-6)
    assert hs.Reading.from_attention(path).part().numbers == (0, 1, 2)
    assert "<b>" not in hs.head_view(reading, layer=0).html().split("<script", 1)[0]


def test_a_safetensors_file_with_an_array_per_layer_opens_as_a_reading(attention, tmp_path):
    path = tmp_path / "a.safetensors"
    arrays = {f"layers.{n}.attn": np.ascontiguousarray(attention[at])
              for at, n in enumerate((10, 2, 7))}  # fmt: skip
    save_file(arrays, path, metadata={"tokens": json.dumps(TOKENS)})
    reading = hs.open(path)
    assert reading.part().numbers == (2, 7, 10)
    shown = reading.attention.sel(layer=10).to_numpy()
    np.testing.assert_allclose(shown, attention[0], atol=1e-6)
    reading.save(tmp_path / "own.safetensors")
    assert hs.open(tmp_path / "own.safetensors").part().numbers == (2, 7, 10)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"x": np.zeros(3)}, "holds x; attention is one array"),
        ({"attention": np.ones((1, 2, 4, 4)) / 4}, "Give tokens"),
        ({"attention": np.ones((1, 2, 3, 3)) / 3, "tokens": np.array(TOKENS)}, "4 query and 4 key"),
        ({"attention": -np.ones((1, 2, 4, 4)), "tokens": np.array(TOKENS)}, "negative numbers"),
        ({"attention": np.ones((1, 1, 4, 4)), "tokens": np.array(TOKENS, dtype=object)}, "pickled"),
    ],
)
def test_what_is_wrong_with_a_dump_is_named(arrays, said, tmp_path):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(BadInput, match=said):
        hs.open(tmp_path / "a.npz")


def test_damaged_and_missing_dumps_are_refused(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 cut")
    with pytest.raises(BadInput, match="cannot be read"):
        hs.open(tmp_path / "a.npz")
    with pytest.raises(BadInput, match="There is no file"):
        hs.Reading.from_attention(tmp_path / "none.npz")
