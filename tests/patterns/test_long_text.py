"""Explanations of long texts look at a stretch of queries, never at queries × keys × neurons."""

from __future__ import annotations

import numpy as np

from headscope.patterns.explain import explain

TEXT = " ".join(["the cat sat on the mat and the dog ran to the house"] * 4)


def test_a_stretch_is_explained_as_it_would_be_within_the_whole(tiny_llama):
    reading = tiny_llama.read(TEXT)
    whole = explain(reading, 1, 0, "previous_word", size=4)
    one = reading.part().layer(1)
    some = explain(reading, 1, 0, "previous_word", size=4, most_pairs=one.shape[2] * 10)
    assert len(whole.queries) == whole.length and "on this text" in whole.words
    assert len(some.queries) == 10
    assert f"tokens {some.queries[0]} to {some.queries[-1]} of {whole.length}" in some.words
    # every query of the stretch adds what it added within the whole text
    words = reading.part().query.content
    asked = [i for i in range(2, whole.length) if words[i] and words[i - 1]]
    expected = whole.delta.by_query[[asked.index(i) for i in some.queries if i in asked]]
    np.testing.assert_allclose(some.delta.by_query, expected, atol=1e-9)
    assert some.causal.exact < 1e-4
