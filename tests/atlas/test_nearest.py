"""Nearest examples are those of comparing with every token of every text."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.atlas import example_index
from headscope.errors import BadInput
from tests.tiny import tiny_scope


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_llama"])
def test_nearest_examples_are_those_of_a_direct_comparison(name, corpus, request, tmp_path):
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


PAIRS = [
    (f"the {a} cat sat on the {b} mat.", f"a dog ran to the {b} tree" + " in one" * (a == "red"))
    for a in ("red", "blue")
    for b in ("green", "red", "blue")
]
OWN = ("it was the red house", "two of the blue dog")


@pytest.mark.parametrize("name", ["tiny_t5", "tiny_bart"])
@pytest.mark.parametrize(("kind", "layer"), [("encoder", 1), ("decoder", 1), ("cross", 1)])
@pytest.mark.parametrize("of", ["output", "query"])
def test_nearest_examples_of_two_stacks_are_those_of_a_direct_comparison(
    name, kind, layer, of, request
):
    scope, atlas = request.getfixturevalue(f"{name}_atlas")
    head, query = 2, 3

    def vectors(reading):
        part = reading.part(kind)
        one = part.layer(layer)
        if of == "query":
            return one.held["q"].tensor()[head].float().numpy()
        return part.weights(layer)[head] @ one.v[head]

    def read(text, target):
        return scope.read(text, target=target, keep=("weights", "q", "k", "v"))

    mine = read(*OWN)
    own = vectors(mine)[query]
    likeness = {
        (number, place): float(vector @ own / np.linalg.norm(vector) / np.linalg.norm(own))
        for number, (text, target) in enumerate(PAIRS)
        for place, vector in enumerate(vectors(read(text, target)))
    }
    expected = sorted(likeness.values(), reverse=True)[:5]
    options = {"n": 5, "kind": kind, "of": of}
    found = atlas.nearest(scope, OWN[0], query, layer, head, text_pair=OWN[1], **options)
    np.testing.assert_allclose(found["likeness"], expected, atol=1e-4)
    for row in found.itertuples():
        assert likeness[row.document, row.query] == pytest.approx(row.likeness, abs=1e-4)
        tokens = read(*PAIRS[row.document]).part(kind).query.labels
        assert f"[[{tokens[row.query]}]]" in row.text
    in_hand = atlas.nearest(scope, mine, query, layer, head, **options)
    np.testing.assert_allclose(in_hand["likeness"], found["likeness"], atol=1e-5)


@pytest.fixture(scope="module")
def tiny_t5_atlas(tiny_t5):
    return tiny_t5, hs.atlas(tiny_t5, PAIRS, distances=False, progress=False)


@pytest.fixture(scope="module")
def tiny_bart_atlas():
    sizes = {f"{stack}_{name}": n for stack in ("encoder", "decoder")
             for name, n in (("layers", 2), ("attention_heads", 4), ("ffn_dim", 32))}  # fmt: skip
    scope = tiny_scope("BartForConditionalGeneration", d_model=32, num_hidden_layers=2, **sizes)
    return scope, hs.atlas(scope, PAIRS, distances=False, progress=False)


def test_the_text_of_an_example_is_read_again_token_for_token(atlas, tiny_bert, tiny_t5_atlas):
    turned = atlas.frame("documents").assign(ids=lambda rows: [ids[::-1] for ids in rows["ids"]])
    odd = hs.Atlas(atlas.description, atlas._tables | {"documents": turned[:2]})  # nobody's text
    for scope, one in ((tiny_bert, atlas), (tiny_bert, odd), tiny_t5_atlas):
        for row in one.frame("documents").itertuples():
            ids = one.read(scope, row.document).part(row.kind).query.ids
            assert ids.tolist() == list(row.ids)
    with pytest.raises(BadInput, match="has no text 999"):
        atlas.read(tiny_bert, 999)


def test_a_place_of_the_decoder_asks_for_the_text_that_was_read(tiny_t5_atlas):
    scope, atlas = tiny_t5_atlas
    texts = atlas.frame("documents")
    alone = hs.Atlas(atlas.description, atlas._tables | {"documents": texts[:0]})
    with pytest.raises(BadInput, match="give no cross attention"):
        alone.nearest(scope, *OWN[:1], 0, 0, 0, kind="cross")
    one = texts[(texts["kind"] == "decoder") | (texts["document"] == 2)]
    partly = hs.Atlas(atlas.description, atlas._tables | {"documents": one})
    found = partly.nearest(scope, OWN[0], 0, 0, 0, text_pair=OWN[1], kind="decoder")
    assert set(found["document"]) == {2}


def test_another_model_is_refused(atlas, tiny_gpt2):
    with pytest.raises(BadInput, match="made from BertForPreTraining, and its weights differ"):
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
    assert set(few["by"]) == {"every position"}
    # as many cells as there are looked into: nothing is missed
    found = near(hs.Atlas.load(kept), tiny_bert, exact=False)
    assert set(found["by"]) == {"index"}
    np.testing.assert_allclose(found["likeness"], few["likeness"], atol=2e-3)
    assert set(near(hs.Atlas.load(kept), tiny_bert, exact=True)["by"]) == {"every position"}
    monkeypatch.setattr(example_index, "_cells_of", None)  # opened, not made again
    again = near(hs.Atlas.load(kept), tiny_bert, exact=False)
    assert again.drop(columns="likeness").equals(found.drop(columns="likeness"))
    monkeypatch.setattr(example_index, "installed", lambda: False)
    assert set(near(hs.Atlas.load(kept), tiny_bert, exact=False)["by"]) == {"every position"}


def test_what_was_kept_of_other_texts_is_made_again(kept, tiny_bert, corpus):
    pytest.importorskip("faiss")
    near(hs.Atlas.load(kept), tiny_bert, exact=False)
    others = corpus[::-1][:20]
    hs.atlas(tiny_bert, others, distances=False, output=kept, restart=True, progress=False)
    atlas = hs.Atlas.load(kept)
    expected = near(hs.atlas(tiny_bert, others, distances=False, progress=False), tiny_bert)
    found = near(atlas, tiny_bert, exact=False)
    assert list(found["document"]) == list(expected["document"])
    assert list(found["query"]) == list(expected["query"])


@pytest.mark.parametrize("ending", [".npz", ".index.npz"])
def test_a_damaged_file_is_named_in_one_sentence(ending, kept, tiny_bert):
    pytest.importorskip("faiss")
    near(hs.Atlas.load(kept), tiny_bert, exact=False)
    file = kept.parent / "x.atlas.vectors" / f"encoder-1-2-output{ending}"
    data = bytearray(file.read_bytes())
    for cut in (data[: len(data) // 2], data[:300] + bytes(len(data) - 300)):
        file.write_bytes(cut)
        with pytest.raises(BadInput, match=f"{file.name} is damaged; delete it"):
            near(hs.Atlas.load(kept), tiny_bert, exact=False)
    file.unlink()
    assert len(near(hs.Atlas.load(kept), tiny_bert, exact=False)) == 5
