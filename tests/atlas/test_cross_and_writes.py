"""Examples of heads that look from one text into another, and what heads write."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.atlas.find import find_heads
from headscope.circuits.weights.matrices import head_weights, vocabulary
from tests.browser.conftest import chromium, new_page, show
from tests.views.decoding import Container

__all__ = ["chromium", "new_page", "show"]

TEXTS = [
    f"the {a} cat sat on the {b} mat" for a in ("red", "blue") for b in ("green", "red", "blue")
]
PAIRS = [(text, f"a dog ran to the {text.split()[1]} tree") for text in TEXTS]


@pytest.fixture(scope="module")
def of_t5(tiny_t5):
    return hs.atlas(tiny_t5, PAIRS, top=4, progress=False, batch_tokens=1)


def test_examples_of_cross_attention_are_the_rows_of_its_maps(tiny_t5, of_t5):
    atlas = of_t5
    assert set(atlas.kinds) == {"encoder", "decoder", "cross"}
    layers, heads = (tiny_t5.layers["cross"], tiny_t5.heads["cross"])
    parts = [tiny_t5.read(text, target=target).part("cross") for text, target in PAIRS]
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
                assert row.query_token == parts[row.document].query.labels[row.query]
                assert row.key_token == parts[row.document].key.labels[row.key]
                assert " ⟵ " in row.text and f"<<{row.key_token}" in row.text


def test_places_of_cross_attention_are_found_by_what_is_written_and_what_was_read(tiny_t5, of_t5):
    found = of_t5.find(None, kind="cross", query="/dog/", key="/cat/")
    kept = of_t5.frame("examples")
    kept = kept[kept["kind"] == "cross"].drop_duplicates(["layer", "head", "document", "query"])
    parts = [tiny_t5.read(text, target=target).part("cross") for text, target in PAIRS]
    expected = {
        (row.layer, row.head, row.document, row.query, int(key))
        for row in kept.itertuples()
        for key in row.keys
        if "dog" in parts[row.document].query.labels[row.query]
        and "cat" in parts[row.document].key.labels[key]
    }
    rows = found[["layer", "head", "document", "query", "key"]]
    assert expected and set(rows.itertuples(index=False, name=None)) == expected


def test_heads_are_found_across_two_texts(tiny_t5):
    found = find_heads(tiny_t5, PAIRS, "/dog/", "/cat/", progress=False)
    scores = []
    for text, target in PAIRS:
        part = tiny_t5.read(text, target=target).part("cross")
        weights = np.stack([part.weights(layer) for layer in part.numbers])  # l h t s
        queries = [i for i, each in enumerate(part.query.labels) if "dog" in each]
        keys = [j for j, each in enumerate(part.key.labels) if "cat" in each]
        scores.append(weights[:, :, queries][..., keys].sum(-1).mean(-1))
    expected = np.mean(scores, axis=0)
    across = found[found["kind"] == "cross"]
    assert len(across) == expected.size
    for row in across.itertuples():
        assert row.score == pytest.approx(expected[row.layer, row.head], abs=2e-5)


def test_the_page_of_cross_attention_shows_both_texts(of_t5):
    data = Container(hs.atlas_view(of_t5, kind="cross").data.container())
    about = data.header["atlas"]
    assert about["kinds"] == list(of_t5.kinds) and "cross heads" in data.header["caption"]

    def words(of):
        texts = about[of]
        tokens, places = data.array(texts["tokens"]), data.array(texts["positions"])
        starts = texts["starts"]
        return [
            {int(places[i]): texts["words"][int(tokens[i])] for i in range(*starts[at : at + 2])}
            for at in range(len(starts) - 1)
        ]

    queries, keys = words("texts"), words("key_texts")
    rows = of_t5.frame("examples")
    numbers = about["examples"]["numbers"]
    for row in rows[rows["kind"] == "cross"].itertuples():
        at = numbers.index(row.document)
        assert queries[at][row.query] == row.query_token
        assert keys[at][row.key] == row.key_token


@pytest.mark.browser
def test_a_page_marks_the_query_in_one_text_and_the_keys_in_the_other(show, of_t5):
    seen = show(hs.atlas_view(of_t5, 1, 1, kind="cross"))
    truth = of_t5.examples(1, 1, kind="cross")
    first = seen.page.locator(".at-examples li").first
    assert first.locator(".query").inner_text() == truth["query_token"].iloc[0]
    assert truth["key_token"].iloc[0] in first.locator(".key").all_inner_texts()
    before, _, after = first.locator(".at-text").inner_text().partition("⟵")
    assert truth["query_token"].iloc[0] in before and truth["key_token"].iloc[0] in after
    assert seen.errors == []


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
