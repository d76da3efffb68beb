"""Nearest places are those of comparing with every token of every text."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.atlas import place_index
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


def near(atlas, scope, **options):
    return atlas.nearest(scope, "the cat sat on it", 3, 1, 2, n=5, **options)


@pytest.fixture
def kept(tiny_bert, corpus, tmp_path):
    path = tmp_path / "x.atlas"
    hs.atlas(tiny_bert, corpus, distances=False, output=path, progress=False)
    return path


def test_a_large_atlas_is_looked_up_in_an_index_kept_beside_it(kept, tiny_bert, monkeypatch):
    pytest.importorskip("faiss")
    few = near(hs.Atlas.load(kept), tiny_bert)
    assert set(few["by"]) == {"every place"}
    monkeypatch.setattr(place_index, "INDEXED", 1)
    # as many cells as there are looked into: nothing is missed
    found = near(hs.Atlas.load(kept), tiny_bert)
    assert set(found["by"]) == {"index"}
    np.testing.assert_allclose(found["likeness"], few["likeness"], atol=2e-3)
    assert set(near(hs.Atlas.load(kept), tiny_bert, exact=True)["by"]) == {"every place"}
    monkeypatch.setattr(place_index, "_cells_of", None)  # opened, not made again
    again = near(hs.Atlas.load(kept), tiny_bert)
    assert again.drop(columns="likeness").equals(found.drop(columns="likeness"))
    monkeypatch.setattr(place_index, "installed", lambda: False)
    assert set(near(hs.Atlas.load(kept), tiny_bert)["by"]) == {"every place"}


def test_what_was_kept_of_other_texts_is_made_again(kept, tiny_bert, corpus, monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(place_index, "INDEXED", 1)
    near(hs.Atlas.load(kept), tiny_bert)
    others = corpus[::-1][:20]
    hs.atlas(tiny_bert, others, distances=False, output=kept, restart=True, progress=False)
    atlas = hs.Atlas.load(kept)
    expected = near(hs.atlas(tiny_bert, others, distances=False, progress=False), tiny_bert)
    found = near(atlas, tiny_bert)
    assert list(found["document"]) == list(expected["document"])
    assert list(found["query"]) == list(expected["query"])


@pytest.mark.parametrize("ending", [".npz", ".index.npz"])
def test_a_damaged_file_is_named_in_one_sentence(ending, kept, tiny_bert, monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(place_index, "INDEXED", 1)
    near(hs.Atlas.load(kept), tiny_bert)
    file = kept.parent / "x.atlas.vectors" / f"encoder-1-2-output{ending}"
    data = bytearray(file.read_bytes())
    for cut in (data[: len(data) // 2], data[:300] + bytes(len(data) - 300)):
        file.write_bytes(cut)
        with pytest.raises(BadInput, match=f"{file.name} is damaged; delete it"):
            near(hs.Atlas.load(kept), tiny_bert)
    file.unlink()
    assert len(near(hs.Atlas.load(kept), tiny_bert)) == 5
