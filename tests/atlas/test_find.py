"""Heads are found by what they attend from and to, exactly, and not where there is nothing."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.atlas.find import find_heads
from headscope.errors import BadInput


def by_hand(scope, corpus, fits):
    """Mean over documents of the mean over queries that see a fitting key, one at a time."""
    scores = []
    for text, pair in corpus:
        part = scope.read(text, pair).part()
        weights = np.concatenate([part.weights(layer) for layer in part.numbers])
        tokens, n = part.query, len(part.query)
        mine = []
        for i in range(n):
            seen = range(i + 1) if scope.causal else range(n)
            keys = [j for j in seen if fits(tokens, i, j)]
            if 0 < len(keys) < len(seen):
                mine.append(weights[:, i, keys].sum(-1))
        if mine:
            scores.append(np.mean(mine, axis=0))
    return np.mean(scores, axis=0)


@pytest.mark.parametrize(
    ("query", "key", "fits"),
    [
        ("cat", "dog", lambda t, i, j: t.labels[i] == "cat" and t.labels[j] == "dog"),
        (
            "/^(red|blue)$/",
            "the",
            lambda t, i, j: t.labels[i] in ("red", "blue") and t.labels[j] == "the",
        ),
        ("the", "same", lambda t, i, j: t.labels[i] == t.labels[j] == "the" and i != j),
    ],
)
@pytest.mark.parametrize("name", ["tiny_bert", "tiny_llama"])
def test_the_score_of_every_head_is_that_of_a_direct_computation(
    name, query, key, fits, corpus, request
):
    scope = request.getfixturevalue(name)
    found = find_heads(scope, corpus, query, key, progress=False)
    expected = by_hand(scope, corpus, fits)
    heads = scope.heads[scope.kinds[0]]
    np.testing.assert_allclose(
        found["score"], expected[found["layer"] * heads + found["head"]], atol=2e-5
    )
    assert found["lift"].notna().all()


def test_random_attention_has_no_clear_head(tiny_bert, corpus):
    assert not find_heads(tiny_bert, corpus, "cat", "dog", progress=False)["clear"].any()


def test_words_of_several_pieces_parts_of_speech_and_governors():
    pytest.importorskip("spacy")
    scope = hs.load()
    corpus = [
        ("The strawberries were red.", "I bought the strawberries."),
        ("A dog chased the old cat.", "The cat ran away."),
    ] * 4
    assert len(find_heads(scope, corpus, "strawberries", "same", progress=False)) == 96
    assert len(find_heads(scope, corpus, "pos:ADJ", "pos:NOUN", progress=False)) == 96
    assert len(find_heads(scope, corpus, "dog", "governor", progress=False)) == 96


def test_what_cannot_be_looked_for_is_told(tiny_bert, corpus):
    with pytest.raises(BadInput, match="not a regular expression"):
        find_heads(tiny_bert, corpus, "/(/", "cat")
    with pytest.raises(BadInput, match="Give the key"):
        find_heads(tiny_bert, corpus, "cat", " ")
    with pytest.raises(BadInput, match="No text of the corpus"):
        find_heads(tiny_bert, corpus, "zebra", "cat", progress=False)
