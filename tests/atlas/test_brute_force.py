"""What an atlas keeps is what a direct computation over all maps finds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import headscope as hs
from headscope.atlas.speech import parsed
from headscope.statistics.features.grid import scrambled

TOP, PER_DECILE, PER_DOCUMENT = 6, 2, 2


@pytest.fixture(scope="module", params=["tiny_bert", "tiny_llama", "tiny_deberta"])
def made(request, corpus):
    """An atlas, and every document's maps as the model itself gives them, document by document."""
    scope = request.getfixturevalue(request.param)
    # one text a batch: the model's own rounding is then that of the maps below
    atlas = hs.atlas(scope, corpus, top=TOP, progress=False, batch_tokens=1, chunk=7)
    maps, tokens = [], []
    for text, pair in corpus:
        part = scope.read(text, pair).part()
        maps.append(np.concatenate([part.weights(layer) for layer in part.numbers]))  # H t s
        tokens.append(part.query)
    return scope, atlas, maps, tokens


def rows_of(maps, tokens, measure, causal):
    """Values H × t of every document, nan where undefined, computed one query at a time."""
    for weights, text in zip(maps, tokens, strict=True):
        heads, n, _ = weights.shape
        values = np.full((heads, n), np.nan)
        for i in range(n):
            seen = range(i + 1) if causal else range(n)
            row = weights[:, i]
            if measure == "confidence" and text.classes[i] != 1:
                values[:, i] = row.max(-1)
            if measure == "focus" and len(seen) > 1:
                with np.errstate(divide="ignore", invalid="ignore"):
                    parts = np.where(row > 0, row * np.log(row), 0)
                values[:, i] = 1 + parts.sum(-1) / np.log(len(seen))
            if measure == "previous_word" and i and text.content[i] and text.content[i - 1]:
                choices = [j for j in seen if text.content[j]]
                if text.segments[i] == text.segments[i - 1] and len(choices) > 1:
                    values[:, i] = row[:, i - 1]
            if measure == "same_word" and text.classes[i] == 4:
                others = [j for j in seen if j != i and text.classes[j] == 4]
                same = [j for j in others if text.ids[j] == text.ids[i]]
                if 0 < len(same) < len(others):
                    values[:, i] = row[:, same].sum(-1)
        yield values


@pytest.mark.parametrize("measure", ["confidence", "focus", "previous_word", "same_word"])
def test_the_strongest_examples_are_those_of_a_direct_computation(made, measure):
    scope, atlas, maps, tokens = made
    every = list(rows_of(maps, tokens, measure, scope.causal))
    heads = maps[0].shape[0] // scope.layers[scope.kinds[0]]
    for at in range(maps[0].shape[0]):
        candidates = []
        for document, values in enumerate(every):
            own = sorted(
                (-values[at, i], document, i)
                for i in range(values.shape[1])
                if values[at, i] == values[at, i]
            )[:PER_DOCUMENT]
            candidates += own
        expected = sorted(candidates)[:TOP]
        rows = atlas.examples(at // heads, at % heads, None, measure=measure)
        np.testing.assert_allclose(rows["value"], [-value for value, _, _ in expected], atol=2e-5)
        # where no other position is as strong, it is the very one
        values = np.array([-value for value, _, _ in sorted(candidates)])
        for place, (value, document, query) in enumerate(expected):
            if np.sum(np.abs(values + value) < 1e-4) == 1:
                assert (rows["document"][place], rows["query"][place]) == (document, query)
        for row in rows.itertuples():
            weights = maps[row.document][at, row.query]
            np.testing.assert_allclose(row.weights, weights[row.keys], atol=2e-5)
            np.testing.assert_allclose(
                row.weights, np.sort(weights)[::-1][: len(row.weights)], atol=2e-5
            )


@pytest.mark.parametrize("measure", ["confidence", "previous_word"])
def test_examples_of_a_decile_lie_in_it_and_are_those_the_seed_draws_first(made, measure):
    scope, atlas, maps, tokens = made
    every = list(rows_of(maps, tokens, measure, scope.causal))
    heads = maps[0].shape[0] // scope.layers[scope.kinds[0]]
    for at in range(maps[0].shape[0]):
        values = np.concatenate([of[at][~np.isnan(of[at])] for of in every])
        check_deciles(atlas, (at // heads, at % heads), measure, np.sort(values))


def check_deciles(atlas, head, measure, values):
    """Every example lies in its decile of all (sorted) values, all of which are drawn here."""
    apart = 1e-5  # what rounding may move
    bounds = atlas.frame("deciles").query(f"measure == '{measure}'")
    bounds = bounds[(bounds["layer"] == head[0]) & (bounds["head"] == head[1])]
    assert set(bounds["positions"]) == {len(values)}

    def ranks(value):
        """Shares of all positions below, and up to, a value."""
        below = np.searchsorted(values, value - apart, "left")
        return below / len(values), np.searchsorted(values, value + apart, "right") / len(values)

    assert bounds["share"].sum() == pytest.approx(1)
    for row in bounds.itertuples():
        below, upto = ranks(row.low)[0], ranks(row.high)[1]
        assert below <= row.decile / 10 + 0.05 and upto >= row.decile / 10 + 0.05
        assert upto - below >= row.share - 1e-9
    for decile in range(10):
        rows = atlas.examples(*head, None, measure=measure, decile=decile)
        assert len(rows) <= PER_DECILE and rows["document"].is_unique
        for value in rows["value"]:
            below, upto = ranks(value)
            assert below <= (decile + 1) / 10 and upto >= decile / 10, (head, decile, value)
        drawn = scrambled(rows["document"].to_numpy(), rows["query"].to_numpy(), 0)
        assert list(drawn) == sorted(drawn)


def test_profiles_count_the_key_that_every_query_attends_to_most(made):
    scope, atlas, maps, tokens = made
    heads = maps[0].shape[0] // scope.layers[scope.kinds[0]]
    for at in range(maps[0].shape[0]):
        offsets, keys, pairs = Counter(), Counter(), Counter()
        for weights, text in zip(maps, tokens, strict=True):
            for i, j in enumerate(weights[at].argmax(-1)):
                offsets[str(max(-64, min(64, j - i)))] += 1
                keys[text.labels[j]] += 1
                pairs[text.labels[i], text.labels[j]] += 1
        of = (at // heads, at % heads)
        table = atlas.profiles(*of, "offset")
        assert dict(zip(table["name"], table["count"], strict=True)) == dict(offsets)
        table = atlas.profiles(*of, "key_token")
        assert all(keys[name] == n for name, n in zip(table["name"], table["count"], strict=True))
        assert set(table["name"]) == {name for name, n in keys.items() if n >= 5}
        table = atlas.profiles(*of, "pair")
        for name, other, n in zip(table["name"], table["other"], table["count"], strict=True):
            assert pairs[name, other] == n


def test_chance_is_uniform_attention(made):
    """Expected counts of offsets and key tokens are those of drawing keys uniformly."""
    scope, atlas, _, tokens = made
    offsets, keys = Counter(), Counter()
    for text in tokens:
        for i in range(len(text)):
            seen = range(i + 1) if scope.causal else range(len(text))
            for j in seen:
                offsets[str(max(-64, min(64, j - i)))] += 1 / len(seen)
                keys[text.labels[j]] += 1 / len(seen)
    for row in atlas.profiles(0, 0, "offset").itertuples():
        assert row.expected == pytest.approx(offsets[row.name], rel=1e-6)
    for row in atlas.profiles(0, 0, "key_token").itertuples():
        assert row.expected == pytest.approx(keys[row.name], rel=1e-6)


def test_measures_and_labels_are_those_of_a_survey(tiny_bert, corpus, atlas):
    survey = hs.survey(tiny_bert, corpus, progress=False)
    for name in survey.measures:
        np.testing.assert_allclose(atlas.map(name), survey.map(name), atol=1e-6)


def test_words_speech_and_relations_are_counted_over_the_positions_drawn(tiny_bert, corpus):
    """Here every position is drawn: the heaviest key of every query that is a word."""
    pytest.importorskip("spacy")
    atlas = hs.atlas(tiny_bert, corpus, progress=False, batch_tokens=1, distances=False)
    words, relations, tags = Counter(), Counter(), Counter()
    even = Counter()
    for text, pair in corpus:
        part = tiny_bert.read(text, pair).part()
        weights, tokens = part.weights(1)[2], part.query
        real = [i for i in range(len(tokens)) if tokens.classes[i] > 2]
        document = next(parsed([[tokens.labels[i] for i in real]]))
        of = dict(zip(real, document, strict=True))
        for i in real:
            j = int(weights[i].argmax())
            words[tokens.labels[j].lower() if j in of else "special token"] += 1
            tags[of[i].pos_, of[j].pos_ if j in of else "special token"] += 1
            relations["governor"] += j in of and j != i and of[i].head.i == of[j].i
            for k in range(len(tokens)):
                even[of[i].pos_, of[k].pos_ if k in of else "special token"] += 1 / len(tokens)
    table = atlas.profiles(1, 2, "key_word")
    assert dict(zip(table["name"], table["count"], strict=True)) == {
        name: n for name, n in words.items() if n >= 5
    }
    table = atlas.profiles(1, 2, "speech")
    for row in table.itertuples():
        assert tags[row.name, row.other] == row.count
        assert even[row.name, row.other] == pytest.approx(row.expected)
    table = atlas.profiles(1, 2, "relation")
    governors = table[table["name"].str.startswith("governor")]
    assert governors["count"].sum() <= relations["governor"]
