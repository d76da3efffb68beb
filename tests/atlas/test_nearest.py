"""Nearest places are those of comparing with every token of every text."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.errors import BadInput


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_llama"])
def test_nearest_places_are_those_of_a_direct_comparison(name, corpus, request, tmp_path):
    scope = request.getfixturevalue(name)
    path = tmp_path / "x.atlas"
    hs.atlas(scope, corpus, distances=False, output=path, progress=False)
    atlas = hs.Atlas.load(path)
    layer, head, query = 1, 2, 3

    def output(text, pair=None):
        part = scope.read(text, pair, keep=("weights", "q", "k", "v")).part()
        one = part.layer(layer)
        assert one.v is not None
        values = one.v[head // (len(one.held["q"].tensor()) // len(one.v))]
        return part.weights(layer)[head] @ values

    own = output("the cat sat on it")[query]
    likeness = {}
    for number, (text, pair) in enumerate(corpus):
        for place, vector in enumerate(output(text, pair)):
            cosine = vector @ own / np.linalg.norm(vector) / np.linalg.norm(own)
            likeness[number, place] = float(cosine)
    expected = sorted(likeness.values(), reverse=True)[:5]
    found = atlas.nearest(scope, "the cat sat on it", query, layer, head, n=5)
    np.testing.assert_allclose(found["likeness"], expected, atol=1e-4)
    for row in found.itertuples():
        assert likeness[row.document, row.query] == pytest.approx(row.likeness, abs=1e-4)
    again = hs.Atlas.load(path).nearest(scope, "the cat sat on it", query, layer, head, n=5)
    np.testing.assert_allclose(again["likeness"], expected, atol=2e-3)  # kept in half precision


def test_another_model_is_refused(atlas, tiny_gpt2):
    with pytest.raises(BadInput, match="made of BertForPreTraining with other weights"):
        atlas.nearest(tiny_gpt2, "the cat", 0, 0, 0)
