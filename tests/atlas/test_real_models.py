"""The same comparison with a direct computation, on real models and 300 sentences."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.patterns import measures
from headscope.patterns.rank_correlation import RankPattern
from headscope.statistics.features.grid import grid_of

from .test_brute_force import PER_DOCUMENT, check_deciles, rows_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SENTENCES, TOP = 300, 20


def sentences(data, count=SENTENCES):
    file = data / "ud_english_ewt" / "en_ewt-ud-dev.conllu"
    lines = file.read_text("utf-8").splitlines()
    found = [line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")]
    return [text for text in found if 4 <= len(text.split()) <= 12][:count]


@pytest.mark.parametrize("name", ["minilm", "smollm2"])
def test_the_strongest_places_of_real_models_are_those_of_a_direct_computation(
    name, request, shared_data
):
    scope = request.getfixturevalue(name)
    corpus = sentences(shared_data)
    atlas = hs.atlas(scope, corpus, top=TOP, distances=False, progress=False)
    maps, tokens = [], []
    for text in corpus:
        part = scope.read(text).part()
        maps.append(np.concatenate([part.weights(layer) for layer in part.numbers]))
        tokens.append(part.query)
    heads = scope.heads[scope.kinds[0]]
    examples = atlas.frame("examples").query("decile == -1").groupby(["measure", "layer", "head"])
    judged = {s.name: s.pattern for s in measures(scope) if s.part == "score"}
    for measure in sorted(set(atlas.frame("examples")["measure"])):
        if isinstance(judged.get(measure), RankPattern):
            continue  # two places of one token are equally alike: rounding decides their order
        if measure in judged and measure not in ("previous_word", "same_word"):
            texts = zip(maps, tokens, strict=True)
            every = [of_pattern(judged[measure], scope.causal, *each) for each in texts]
        else:
            every = list(rows_of(maps, tokens, measure, scope.causal))
        for at in range(maps[0].shape[0]):
            best = [
                np.sort(values[at][~np.isnan(values[at])])[::-1][:PER_DOCUMENT] for values in every
            ]
            expected = np.sort(np.concatenate(best))[::-1][:TOP]
            key = (measure, at // heads, at % heads)
            if not len(expected):
                assert key not in examples.groups
                continue
            rows = examples.get_group(key).sort_values("rank")
            np.testing.assert_allclose(rows["value"], expected, atol=5e-5)
            there = [
                every[row.document][at, row.query] for row in rows.itertuples()
            ]  # each is a place that has this value
            np.testing.assert_allclose(rows["value"], there, atol=5e-5)
            if measure in ("confidence", "previous_word"):
                values = np.concatenate([of[at][~np.isnan(of[at])] for of in every])
                check_deciles(atlas, key[1:], measure, np.sort(values))
    _check_profiles(atlas, maps, tokens, heads)


def of_pattern(pattern, causal, weights, text):
    """Values H × t of one text, summed one query at a time over the pattern's pairs."""
    grid = grid_of([text], kind="decoder" if causal else "encoder", causal=causal)
    values = np.full(weights.shape[:2], np.nan)
    targets, pool = (mask[0].numpy() for mask in pattern.rows_and_keys(grid))
    for i in np.flatnonzero((targets.sum(1) > 0) & (targets.sum(1) < pool.sum(1))):
        values[:, i] = weights[:, i, targets[i]].sum(-1)
    return values


def _check_profiles(atlas, maps, tokens, heads):
    """How often each head's queries attend most to each offset."""
    table = atlas.frame("profiles").query("profile == 'offset'").groupby(["layer", "head"])
    for at in range(maps[0].shape[0]):
        offsets = np.concatenate([w[at].argmax(-1) - np.arange(w.shape[1]) for w in maps])
        name, count = np.unique(offsets.clip(-64, 64), return_counts=True)
        rows = table.get_group((at // heads, at % heads))
        found = dict(zip(rows["name"].astype(int), rows["count"], strict=True))
        # a row of two equal weights may be counted for either
        apart = sum(abs(found.get(int(n), 0) - c) for n, c in zip(name, count, strict=True))
        assert apart <= 2
