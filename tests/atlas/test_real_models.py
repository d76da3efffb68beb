"""The same comparison with a direct computation, on real models and 300 documents.

The maps that the direct computation looks at are those the pass itself had, kept on their way, so
that counts and lists can be held to be equal, not near: two computations of one softmax differ in
the last bit, and two weights that are equal but for it would change ranks. That they are the
model's own maps is held beside.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import headscope as hs
from headscope.patterns.as_statistics import pattern_measures
from headscope.patterns.attention_mass import MassPattern
from headscope.patterns.rank_correlation import LEAST, RankPattern
from headscope.patterns.token_pairs import TokenPairs
from headscope.statistics.features.grid import grid_of
from headscope.statistics.kernels import blocks

from .test_brute_force import PER_DECILE, PER_DOCUMENT, rows_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
DOCUMENTS, TOP = 300, 20
DIRECT = ("confidence", "focus", "previous_word", "same_word")  # one query at a time, by hand
ROUNDING = 2e-6  # sums of the same weights in another order


def documents(data, pairs):
    file = data / "ud_english_ewt" / "en_ewt-ud-dev.conllu"
    lines = file.read_text("utf-8").splitlines()
    found = [line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")]
    short = [text for text in found if 4 <= len(text.split()) <= 12][: DOCUMENTS + 1]
    return [
        (short[n], short[n + 1]) if pairs and n % 3 == 0 else short[n] for n in range(DOCUMENTS)
    ]


@pytest.fixture(params=["minilm", "smollm2"])
def made(request, shared_data, monkeypatch):
    """An atlas, the maps of its pass (a document each, heads × t × s), and the texts."""
    scope = request.getfixturevalue(request.param)
    corpus = documents(shared_data, pairs=not scope.causal)
    layers: dict[int, list] = {}
    reduce = blocks._reduce

    def keeping(call, plan, batch, heads, queries, make):
        def kept(some, part):
            weights = make(some, part)
            if plan.grid.period is None and plan.grid.tokens is not None:
                layers.setdefault(int(plan.grid.documents[0]), []).append(weights[0].numpy().copy())
            return weights

        return reduce(call, plan, batch, heads, queries, kept)

    with monkeypatch.context() as patched:
        patched.setattr(blocks, "_reduce", keeping)
        # one text a batch, so that what is compared with weights is made of one text too
        atlas = hs.atlas(scope, corpus, top=TOP, distances=False, progress=False, batch_tokens=1)
    maps = [np.concatenate(layers[number]) for number in range(DOCUMENTS)]
    given = [text if isinstance(text, tuple) else (text, None) for text in corpus]
    for number in (0, 1, DOCUMENTS - 1):
        part = scope.read(*given[number]).part()
        own = np.concatenate([part.weights(layer) for layer in part.numbers])
        np.testing.assert_allclose(maps[number], own, atol=2e-5)
    tokens = [scope.encode([a], [b]).tokens[0] for a, b in given]
    return scope, atlas, maps, tokens


def test_an_atlas_of_a_real_model_is_that_of_a_direct_computation(made):
    scope, atlas, maps, tokens = made
    heads = scope.heads[scope.kinds[0]]
    judged = {s.name: s.pattern for s in pattern_measures(scope) if s.part == "score"}
    rows = atlas.frame("examples").assign(at=lambda frame: frame["layer"] * heads + frame["head"])
    bounds = atlas.frame("deciles").assign(at=lambda frame: frame["layer"] * heads + frame["head"])
    of_document = np.repeat(np.arange(DOCUMENTS), [len(text) for text in tokens])
    start = np.concatenate([[0], np.cumsum([len(text) for text in tokens])])
    kinds = set(map(type, judged.values()))
    assert RankPattern in kinds and MassPattern in kinds
    for measure in sorted(set(rows["measure"])):
        if measure in DIRECT:
            parts = list(rows_of(maps, tokens, measure, scope.causal))
        else:
            of = judged[measure]
            parts = [of_pattern(of, scope.causal, *text) for text in zip(maps, tokens, strict=True)]
        every = np.concatenate(parts, axis=1)  # heads × all positions
        mine = rows[rows["measure"] == measure]
        there = every[mine["at"], start[mine["document"]] + mine["query"]]
        np.testing.assert_allclose(mine["value"], there, atol=ROUNDING, err_msg=measure)
        strongest = dict(iter(mine[mine["decile"] < 0].groupby("at")))
        in_deciles = dict(iter(mine[mine["decile"] >= 0].groupby("at")))
        limits = dict(iter(bounds[bounds["measure"] == measure].groupby("at")))
        for at in range(len(every)):
            expected = strongest_positions(every[at], of_document)
            if not len(expected):
                assert at not in strongest
                continue
            found = strongest[at].sort_values("rank")
            place = (start[found["document"]] + found["query"]).to_numpy()
            same = place == expected
            # another place may stand there only if it is as strong, but for rounding
            apart = np.abs(every[at][place] - every[at][expected])
            assert len(place) == len(expected) and (same | (apart < ROUNDING)).all(), (measure, at)
            if measure in ("confidence", "previous_word"):  # single weights: nothing is rounded
                assert same.all(), (measure, at)
            check_deciles(
                np.sort(every[at][~np.isnan(every[at])]),
                limits[at],
                in_deciles[at],
                len(of_document),
            )
    check_counts(atlas, maps, tokens, heads)


def strongest_positions(values, of_document):
    """The largest, of equal ones the first, at most so many of one document."""
    found, used = [], Counter()
    for place in np.argsort(-values, kind="stable"):
        if np.isnan(values[place]) or len(found) == TOP:
            break
        if used[of_document[place]] < PER_DOCUMENT:
            used[of_document[place]] += 1
            found.append(place)
    return np.array(found, dtype=np.int64)


def check_deciles(values, bounds, examples, positions):
    """Deciles are those of all (sorted) values but for the draw, and examples lie within them."""
    assert set(bounds["positions"]) == {len(values)}
    assert bounds["share"].sum() == pytest.approx(1)
    drawn = 1024 * len(values) / positions  # about so many of the positions drawn have a value
    apart = 5 * 0.5 / np.sqrt(max(drawn, 1))  # five standard errors of a share at the most
    middle = bounds["decile"].to_numpy() / 10 + 0.05
    low, high = bounds["low"].to_numpy() - ROUNDING, bounds["high"].to_numpy() + ROUNDING
    assert (np.searchsorted(values, low, "left") / len(values) <= middle + apart).all()
    assert (np.searchsorted(values, high, "right") / len(values) >= middle - apart).all()
    its = examples.merge(bounds[["decile", "low", "high"]], on="decile")
    assert len(its) == len(examples) and its["value"].between(its["low"], its["high"]).all()
    assert not examples.duplicated(["document", "query"]).any()
    assert examples.groupby("decile").size().max() <= PER_DECILE
    assert not examples.duplicated(["decile", "document"]).any()


def of_pattern(pattern, causal, weights, text):
    """Values H × t of one text, one query at a time over the pattern's pairs."""
    grid = grid_of([text], kind="decoder" if causal else "encoder", causal=causal)
    values = np.full(weights.shape[:2], np.nan)
    pairs = TokenPairs(grid, slice(0, len(text)))
    if isinstance(pattern, MassPattern):
        targets, pool = (mask[0].numpy() for mask in pattern.rows_and_keys(grid))
        for i in np.flatnonzero((targets.sum(1) > 0) & (targets.sum(1) < pool.sum(1))):
            values[:, i] = weights[:, i, targets[i]].sum(-1)
    elif isinstance(pattern, RankPattern):
        pool = pattern.pool(pairs)[0].numpy()
        relation = pattern.likeness(grid, slice(0, len(text)))[0].numpy()
        for i in np.flatnonzero(pool.sum(1) >= LEAST):
            row, n = weights[:, i, pool[i]], pool[i].sum()
            mine, theirs = ranks(row), ranks(relation[i, pool[i]])
            rho = 1 - 6 * ((mine - theirs) ** 2).sum(-1) / (n * (n * n - 1))
            values[:, i] = np.where(row.max(-1) == row.min(-1), 0, rho)
    else:  # a bag of words
        seen = pairs.visible[0].numpy()
        own = (pairs.visible & pairs.same_segment)[0].numpy()
        for i in np.flatnonzero((own.sum(1) > 1) & (own.sum(1) < seen.sum(1)) & text.content):
            row = weights[:, i, own[i]].astype(np.float64)
            mass = row.sum(-1)
            bits = np.where(row > 0, row * np.log(np.maximum(row, 1e-300)), 0).sum(-1)
            values[:, i] = (mass * np.log(np.maximum(mass, 1e-300)) - bits) / np.log(own[i].sum())
    return values


def ranks(values):
    """Of equal ones the first is the lower."""
    return values.argsort(-1, kind="stable").argsort(-1).astype(np.float64)


def check_counts(atlas, maps, tokens, heads):
    """How often each head's queries attend most to each offset, token, and pair of tokens."""
    tables = {
        (profile, layer * heads + head): part
        for (profile, layer, head), part in atlas.frame("profiles").groupby(
            ["profile", "layer", "head"]
        )
    }
    # by number: a vocabulary may have two tokens that people read alike
    named = {
        int(i): label for text in tokens for i, label in zip(text.ids, text.labels, strict=True)
    }
    queries = np.concatenate([text.ids for text in tokens])
    for at in range(len(maps[0])):
        chosen = [weights[at].argmax(-1) for weights in maps]
        offsets = np.concatenate([key - np.arange(len(key)) for key in chosen]).clip(-64, 64)
        keys = np.concatenate([text.ids[key] for text, key in zip(tokens, chosen, strict=True)])
        rows = tables["offset", at]
        assert dict(zip(rows["name"].astype(int), rows["count"], strict=True)) == Counter(
            offsets.tolist()
        )
        of_keys = Counter((named[key], n) for key, n in Counter(keys.tolist()).items())
        rows = tables["key_token", at]
        listed = Counter(zip(rows["name"], rows["count"], strict=True))
        assert listed and not listed - of_keys  # the most frequent and most telling are listed
        pairs = Counter(zip(queries.tolist(), keys.tolist(), strict=True))
        of_pairs = Counter((named[i], named[j], n) for (i, j), n in pairs.items())
        rows = tables["pair", at] if ("pair", at) in tables else rows.head(0)
        assert not Counter(zip(rows["name"], rows["other"], rows["count"], strict=True)) - of_pairs
