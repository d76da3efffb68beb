"""Coreference heads, their candidates and their baselines."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch

import headscope as hs
from headscope.corpus.bad_data import Faults
from headscope.corpus.coreference.documents import CoreferenceDocument, Mention
from headscope.probes.coreference.cases import reading_windows
from headscope.probes.coreference.heads import case_table
from headscope.probes.coreference.rules import RULES, head_match, nearest, sieves
from headscope.probes.coreference.tally import DIRECTIONS, ChosenHead, CoreferenceTally
from headscope.probes.passes import run_pass


def document(words, mentions, tags=None, both_sides=False, where="made:1"):
    split = tuple(words.split())
    blank = ("",) * len(split)
    return CoreferenceDocument(
        name="made",
        where=where,
        words=split,
        sentences=tuple(np.cumsum([0, *(word == "." for word in split[:-1])]).tolist()),
        mentions=tuple(Mention(start, end, end - 1, cluster) for start, end, cluster in mentions),
        upos=blank,
        xpos=tuple(tags.split()) if tags else blank,
        features=blank,
        both_sides=both_sides,
    )


STORY = document(
    "the cat saw the dog . it ran to the house . she saw the cat",
    [
        (0, 2, "cat"),
        (3, 5, "dog"),
        (6, 7, "dog"),
        (9, 11, "house"),
        (12, 13, "she"),
        (14, 16, "cat"),
    ],
    "DT NN VBD DT NN . PRP VBD TO DT NN . PRP VBD DT NN",
)


def mention(number):
    return STORY.mentions[number]


def test_the_baselines_answer_as_described():
    before_it = STORY.mentions[:2]
    assert nearest(STORY, mention(2), before_it) == mention(1)
    assert head_match(STORY, mention(2), before_it) is None
    before_cat = STORY.mentions[:5]
    assert nearest(STORY, mention(5), before_cat) == mention(4)
    assert head_match(STORY, mention(5), before_cat) == mention(0)
    assert sieves(STORY, mention(5), before_cat) == mention(0)  # the same string comes first


def test_the_third_sieve_wants_agreement():
    made = document(
        "one boy and two girls said that she ran",
        [(0, 2, "a"), (3, 5, "b"), (7, 8, "c")],
        "CD NN CC CD NNS VBD IN PRP VBD",
    )
    # "girls" is nearer but plural, "boy" is masculine: nothing agrees, so the nearest is taken
    assert sieves(made, made.mentions[2], made.mentions[:2]) == made.mentions[1]
    made = document(
        "mrs tree and two trees said that she ran",
        [(0, 2, "a"), (3, 5, "b"), (7, 8, "a")],
        "NNP NNP CC CD NNS VBD IN PRP VBD",
    )
    assert sieves(made, made.mentions[2], made.mentions[:2]) == made.mentions[0]


def test_only_mentions_with_an_antecedent_in_the_window_are_cases(tiny_bert):
    (window,) = reading_windows(tiny_bert, [STORY], 128)
    assert [(window.words[c.anaphor], c.kind) for c in window.cases] == [
        ("it", "pronoun"),
        ("cat", "nominal"),
    ]
    assert [window.words[c] for c in window.cases[0].candidates] == ["cat", "dog"]
    assert [window.words[c] for c in window.cases[1].antecedents] == ["cat"]


def test_documents_are_cut_to_the_tokens_the_model_reads(tiny_bert):
    (first,) = reading_windows(tiny_bert, [STORY], 10)  # eight words beside two specials
    assert first.words == STORY.words[:8] and len(first.cases) == 1
    every = list(reading_windows(tiny_bert, [STORY], 10, "all"))
    assert [w.words for w in every] == [STORY.words[:6], STORY.words[6:12], STORY.words[12:]]


def test_gap_looks_both_ways_for_the_pronouns_name(tiny_bert):
    made = document(
        "cat said that she saw dog", [(0, 1, "A"), (3, 4, "x"), (5, 6, "x")], both_sides=True
    )
    (window,) = reading_windows(tiny_bert, [made], 128)
    (case,) = window.cases
    assert (case.anaphor, case.candidates, case.antecedents) == (3, (0, 5), (5,))


@pytest.mark.parametrize("direction", [0, 1])
def test_attention_along_the_chain_is_always_right_and_elsewhere_always_wrong(tiny_bert, direction):
    pairs = {6: 4, 15: 1}  # it → dog, cat → cat

    def edit(call):
        weights = torch.zeros_like(call.weights)
        for query, key in pairs.items():
            place = (query + 1, key + 1) if direction == 0 else (key + 1, query + 1)
            weights[:, :2, place[0], place[1]] = 1  # two heads follow the chain
        weights[:, 2:, :, 3] = 1  # the others look at "saw"
        return weights

    tally = CoreferenceTally(2, 4)
    items = reading_windows(tiny_bert, [STORY, STORY], 128)
    run_pass(tiny_bert.edited(edit), items, tally, Faults())
    hits = tally.hits.sum(axis=0)[:, direction]  # set layer head
    assert (hits[:, :, :2] == 4).all() and tally.counts.sum() == 4
    if direction == 0:
        assert (hits[0, :, 2:] == 0).all()  # among all words "saw" wins


def test_the_table_has_the_baselines_and_both_candidate_sets(tiny_bert):
    result = hs.probe.coreference(tiny_bert, [STORY] * 4)
    table = result.summary
    assert list(table["method"][:3]) == ["nearest", "head match", "rule-based"]
    assert table.loc[1, "all"] == 0.5 and table.loc[2, "nominal"] == 1.0
    assert np.isnan(table.loc[0, "proper"])  # the story has no such case
    assert {"fixed random head", "best head"} <= set(table["method"])
    assert set(table["candidates"]) == {"all words", "mentions"}
    assert result.mentions == {"all": 4, "pronoun": 2, "proper": 0, "nominal": 2}


def test_every_mention_says_what_the_best_heads_chose(tiny_bert, tmp_path):
    found = hs.probe.coreference(tiny_bert, [STORY] * 16)
    heads = found.summary.dropna(subset=["baseline"]).set_index(["method", "candidates"])
    weights = tiny_bert.read(list(STORY.words)).words().part()
    content = np.flatnonzero(weights.query.content)
    gold = {6: (2, {4}), 15: (5, {1})}  # it → dog, cat → cat
    for row in found.cases.itertuples():
        head = heads.loc[(row.method, row.candidates)]
        looks = weights.head_weights(int(head["layer"]), int(head["head"]))[
            np.ix_(content, content)
        ]
        looks = (looks if head["direction"] == DIRECTIONS[0] else looks.T)[row.mention_at]
        number, antecedents = gold[row.mention_at]
        before = [one.head for one in STORY.mentions[:number]]
        others = set(range(16)) - {row.mention_at} if row.candidates == "all words" else before
        assert row.choice_at in others and row.choice == STORY.words[row.choice_at]
        assert looks[row.choice_at] == pytest.approx(looks[list(others)].max(), abs=1e-6)
        assert row.right == (row.choice_at in antecedents)
        said = RULES[head["baseline"]](STORY, mention(number), STORY.mentions[:number])
        assert row.baseline_right == (said is not None and said.head in antecedents)
    # eight windows, two mentions, two candidate sets; then the heads of one kind of mention
    best = found.cases[found.cases["method"] == "best head"]
    assert len(best) == 8 * 2 * 2
    assert set(found.cases.query("method == 'best head for pronoun mentions'")["mention"]) <= {"it"}
    own = best[best["candidates"] == "mentions"]
    gained = own["right"].astype(float) - own["baseline_right"].astype(float)
    row = heads.loc[("best head", "mentions")]
    assert row["above_baseline"] == pytest.approx(gained.mean())
    sums = gained.groupby(own["window"]).sum().to_numpy()
    dealt = [abs(np.dot(signs, sums)) for signs in product((1, -1), repeat=len(sums))]
    assert row["p"] == pytest.approx(np.mean(np.array(dealt) >= abs(sums.sum()) - 1e-9))
    found.save(tmp_path / "found.parquet")
    pd.testing.assert_frame_equal(type(found).load(tmp_path / "found.parquet").cases, found.cases)


def test_a_stopped_run_keeps_its_mentions(tiny_bert):
    picks = [("best head", ChosenHead(1, 0, 1, 2, rule=0))]
    kept, again = (CoreferenceTally(2, 4, [picks[0][1]]) for _ in range(2))
    run_pass(tiny_bert, reading_windows(tiny_bert, [STORY] * 3, 128), kept, Faults())
    again.restore(kept.state())
    assert len(case_table(again.cases, picks)) == 6
    pd.testing.assert_frame_equal(case_table(again.cases, picks), case_table(kept.cases, picks))
