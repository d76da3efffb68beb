"""Modules of plain torch, opened with their own tokens."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import headscope as hs

WORDS = ["[PAD]", "[UNK]", "the", "cat", "sat", "on", "mat", "dog"]


class Reader(nn.Module):
    """What somebody might have written: embeddings, an encoder, words out."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(len(WORDS), 16)
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(16, len(WORDS))

    def forward(self, ids: Tensor, src_key_padding_mask: Tensor | None = None) -> Tensor:
        return self.out(self.encoder(self.embed(ids), src_key_padding_mask=src_key_padding_mask))


@pytest.fixture(scope="module")
def scope() -> hs.Scope:
    torch.manual_seed(0)
    return hs.load(Reader().eval(), WORDS, name="reader")


def own_weights(model: Reader, ids: Tensor) -> list[np.ndarray]:
    """By asking every attention module for its weights, layer after layer."""
    found, x = [], model.embed(ids)
    for layer in model.encoder.layers:
        found.append(layer.self_attn(x, x, x, average_attn_weights=False)[1][0].numpy())
        x = layer(x)
    return found


@torch.no_grad()
def test_texts_are_read_as_torch_computes_them_also_lazily_and_from_a_file(scope, tmp_path) -> None:
    model = scope.model.module
    text = "the cat sat on the mat"
    reading = scope.read(text)
    assert list(reading.part().query.labels) == text.split()
    reading.save(tmp_path / "r.safetensors")
    lazy = scope.read(text, keep=("q", "k", "v"))
    ids = torch.tensor([[WORDS.index(word) for word in text.split()]])
    for layer, own in enumerate(own_weights(model, ids)):
        for one in (reading, lazy, hs.Reading.load(tmp_path / "r.safetensors")):
            np.testing.assert_allclose(one.part().weights(layer), own, atol=1e-5)
    longer, shorter = scope.read_batch(["the cat sat on", "the dog"])
    np.testing.assert_allclose(shorter.attention, scope.read("the dog").attention, atol=1e-5)
    assert longer.attention.shape == (2, 4, 4, 4)


def test_surveys_edits_and_views_work(scope, tmp_path) -> None:
    survey = hs.survey(scope, ["the cat sat", "the dog sat on the mat"], progress=False)
    assert survey.map("entropy").shape == (2, 4)
    inputs = scope.encode(["the cat sat"])
    with torch.no_grad():
        seen = scope.without([(1, 2)], mode="zero").forward(inputs).logits
        projection = scope.model.module.encoder.layers[1].self_attn.out_proj.weight
        kept = projection.clone()
        projection[:, 8:12] = 0
        torch.testing.assert_close(seen, scope.forward(inputs).logits, atol=1e-5, rtol=0)
        projection.copy_(kept)
    for view in (hs.head_view, hs.neuron_view, hs.model_view):
        view(scope.read("the cat sat")).save(tmp_path / "view.html")


def test_a_module_that_is_given_vectors_is_read_with_named_positions() -> None:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    scope = hs.load(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval())
    reading = scope.read_inputs({"src": torch.randn(1, 3, 16)}, tokens=["a", "b", "c"])
    assert reading.attention.shape == (2, 4, 3, 3)
    assert list(reading.part().query.labels) == ["a", "b", "c"]


@torch.no_grad()
@pytest.mark.parametrize("turns", [True, False])
def test_a_module_that_counts_time_first_is_given_its_tokens_so(turns: bool) -> None:
    class TimeFirst(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(len(WORDS), 16)
            self.attention = nn.MultiheadAttention(16, 4)

        def forward(self, ids: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
            x = self.embed(ids.T if turns else ids)
            return self.attention(x, x, x, key_padding_mask=key_padding_mask)[0]

    torch.manual_seed(0)
    scope = hs.load(TimeFirst().eval(), WORDS)
    one, other = scope.read_batch(["the cat sat on the mat", "the dog sat"])
    assert one.attention.shape == (1, 4, 6, 6) and other.attention.shape == (1, 4, 3, 3)
    x = scope.model.module.embed(torch.tensor([[2], [7], [4]]))
    own = scope.model.module.attention(x, x, x, average_attn_weights=False)[1][0]
    np.testing.assert_allclose(other.part().weights(0), own, atol=1e-5)


def test_misuse_is_told_in_a_sentence(scope) -> None:
    with pytest.raises(hs.BadInput, match="not a transformers model"):
        hs.load(nn.Linear(2, 2))

    class Maskless(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(len(WORDS), 16)
            self.attention = nn.MultiheadAttention(16, 4, batch_first=True)

        def forward(self, ids: Tensor) -> Tensor:
            x = self.embed(ids)
            return self.attention(x, x, x)[0]

    other = hs.load(Maskless(), WORDS)
    assert other.read("the cat sat").attention.shape == (1, 4, 3, 3)
    with pytest.raises(hs.BadInput, match="read them one by one"):
        other.read_batch(["the cat", "the"])
