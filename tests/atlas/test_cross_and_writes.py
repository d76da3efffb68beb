"""Examples of heads that look from one text into another, and what heads write."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.circuits.weights.matrices import head_weights, vocabulary

TEXTS = [
    f"the {a} cat sat on the {b} mat" for a in ("red", "blue") for b in ("green", "red", "blue")
]


def test_examples_of_cross_attention_are_the_rows_of_its_maps(tiny_t5):
    atlas = hs.atlas(tiny_t5, TEXTS, top=4, progress=False, batch_tokens=1, distances=False)
    assert set(atlas.kinds) == {"encoder", "decoder", "cross"}
    layers, heads = (tiny_t5.layers["cross"], tiny_t5.heads["cross"])
    # without a second sentence the decoder reads the text again
    parts = [tiny_t5.read(text, target=text).part("cross") for text in TEXTS]
    asked = [part.query.classes != 1 for part in parts]  # a separator's confidence is not judged
    for layer in range(layers):
        maps = [part.weights(layer) for part in parts]
        for head in range(heads):
            rows = atlas.examples(layer, head, None, measure="confidence", kind="cross")
            best = max(m[head][of].max() for m, of in zip(maps, asked, strict=True))
            assert rows["value"].iloc[0] == pytest.approx(best, abs=1e-5)
            for row in rows.itertuples():
                weights = maps[row.document][head, row.query]
                np.testing.assert_allclose(row.weights, weights[row.keys], atol=1e-5)
                np.testing.assert_allclose(row.value, weights.max(), atol=1e-5)
                assert " ⟵ " in row.text and f"<<{row.key_token}" in row.text


def test_what_a_head_writes_is_what_circuits_make_of_the_keys_it_chose(tiny_gpt2):
    atlas = hs.atlas(tiny_gpt2, TEXTS, progress=False, batch_tokens=1, distances=False)
    weights, (into, out) = head_weights(tiny_gpt2), vocabulary(tiny_gpt2)
    for layer, head in ((0, 1), (1, 2)):
        chosen = Counter()
        for text in TEXTS:
            part = tiny_gpt2.read(text).part()
            chosen.update(part.query.ids[part.weights(layer)[head].argmax(-1)].tolist())
        seen = sum(n * into[token].float() for token, n in chosen.items()) / chosen.total()
        of = weights.layers[layer]
        raised = seen @ of.v[head].float() @ of.o[head].float() @ out.float().T
        rows = atlas.profiles(layer, head, "writes")
        best = torch.topk(raised - raised.mean(), len(rows)).values
        assert len(rows) == 10
        np.testing.assert_allclose(rows["weight"], best.numpy(), rtol=1e-3, atol=1e-6)
