"""Dependency heads, against hand-made attention and against a slow implementation."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch

import headscope as hs
from headscope.corpus.bad_data import Faults
from headscope.corpus.treebanks.treebank import Treebank
from headscope.errors import BadInput, FewUnits
from headscope.probes.dependency.heads import case_table
from headscope.probes.dependency.tally import DIRECTIONS, Chosen, DependencyTally, predictions
from headscope.probes.drawings import best_heads, case_lines
from headscope.probes.passes import run_pass
from tests.probes.conftest import CAT, DOG, SENTENCES, sentence


def test_both_directions_take_the_largest_weight_and_never_the_word_itself():
    words = torch.tensor([[[[0.9, 0.1, 0.0], [0.2, 0.1, 0.7], [0.3, 0.4, 0.3]]]])
    found = predictions(words, torch.ones(1, 3, dtype=torch.bool))
    assert found[0, 0, 0].tolist() == [1, 2, 1]  # whom each word attends to
    assert found[0, 0, 1].tolist() == [2, 2, 1]  # who attends to each word


def test_among_equals_the_first_word_wins():
    found = predictions(torch.full((1, 1, 4, 4), 0.25), torch.ones(1, 4, dtype=torch.bool))
    assert found[0, 0, 0].tolist() == [1, 0, 0, 0]


def test_a_word_without_token_is_never_chosen():
    words = torch.tensor([[[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]])
    found = predictions(words, torch.tensor([[False, True, True]]))
    assert found[0, 0, 0, 1:].tolist() == [1, 1]


class Oracle(DependencyTally):
    """A tally that tells an edit which sentences are running."""

    def begin(self, items, index):
        self.items, self.index = items, index
        super().begin(items, index)


def gold_attention(tally, direction):
    """An edit that puts all weight where the tree says."""

    def edit(call):
        weights = torch.zeros_like(call.weights)
        for row, item in enumerate(tally.items):
            total = tally.index.total[row]  # w t
            tree = torch.zeros(len(total), len(total))
            for word, head in enumerate(item.heads):
                if head >= 0:
                    tree[(word, head) if direction == 0 else (head, word)] = 1
            pieces = tree / total.sum(dim=1).clamp(min=1)
            weights[row] = total.T @ pieces @ total
        return weights

    return edit


@pytest.mark.parametrize("direction", [0, 1])
def test_gold_trees_as_attention_score_one_hundred_per_cent(tiny_bert, direction):
    tally = Oracle(2, 4)
    scope = tiny_bert.edited(gold_attention(tally, direction))
    run_pass(scope, SENTENCES, tally, Faults())
    for relation, number in tally.labels.items():
        hits = tally.hits[number, :, :, direction]
        expected = 0 if relation == "root" else tally.counts[number]
        assert (hits == expected).all(), relation


def test_uniform_attention_scores_the_tie_break_rate(tiny_bert):
    whole = [CAT, DOG, DOG]  # every word one token, so that all weights are equal
    tally = DependencyTally(2, 4)
    scope = tiny_bert.edited(lambda call: torch.full_like(call.weights, 1 / call.weights.shape[-1]))
    run_pass(scope, whole, tally, Faults())
    first = Counter(
        relation
        for item in whole
        for word, (head, relation) in enumerate(zip(item.heads, item.relations, strict=True))
        if head == (1 if word == 0 else 0)
    )
    for relation, number in tally.labels.items():
        assert (tally.hits[number] == first[relation]).all(), relation


def test_the_best_offset_is_found(tiny_bert):
    result = hs.probe.dependency(tiny_bert, SENTENCES, SENTENCES, minimum=1)
    amod = result.summary.set_index("relation").loc["amod"]
    # "fresh" and "red" both stand right before their noun
    assert (amod["baseline"], amod["offset"], amod["cases"]) == (1.0, 1, 2)


def test_all_counts_every_word_with_punctuation_and_root(tiny_bert):
    result = hs.probe.dependency(tiny_bert, SENTENCES, SENTENCES, minimum=1)
    table = result.summary.set_index("relation")
    assert table.loc["all", "cases"] == sum(map(len, SENTENCES))
    assert "root" not in table.index and "punct" not in table.index


def test_sub_types_are_kept_or_folded(tiny_bert):
    made = [sentence("she was bought", [3, 3, 0], "nsubj:pass aux:pass root")]
    kept = hs.probe.dependency(tiny_bert, made, made, minimum=1)
    folded = hs.probe.dependency(tiny_bert, made, made, minimum=1, subtypes="fold")
    assert set(kept.summary["relation"]) == {"all", "nsubj:pass", "aux:pass"}
    assert set(folded.summary["relation"]) == {"all", "nsubj", "aux"}


def test_a_possessor_may_be_scored_by_its_marker(tiny_bert):
    made = [sentence("cat 's house", [3, 1, 0], "nmod:poss case root")] * 2
    # every word looks at "house", but "cat" at "'s": only the marker gets the possessor right
    tallies = {how: Oracle(2, 4, possessive=how) for how in ("word", "marker")}
    for tally in tallies.values():

        def edit(call, tally=tally):
            weights = torch.zeros_like(call.weights)
            pieces = tally.index.total[0]
            for word, target in ((0, 1), (1, 2), (2, 0)):
                query, key = pieces[word].nonzero()[:, 0], pieces[target].nonzero()[:, 0]
                weights[:, :, query[:, None], key] = 1 / len(key)
            return weights

        run_pass(tiny_bert.edited(edit), made, tally, Faults())
    poss = {how: tally.hits[tally.labels["nmod:poss"], 0, 0, 0] for how, tally in tallies.items()}
    assert poss == {"word": 0, "marker": 2}


def test_cases_whose_word_or_head_the_tokenizer_drops_are_left_out(tiny_bert):
    made = [sentence("the \u200d cat", [2, 3, 0], "det mark root")]
    tally = DependencyTally(2, 4)
    run_pass(tiny_bert, made, tally, Faults())
    assert tally.counts.sum() == 1 and tally.dropped == 2  # only the root is left


def test_a_decoder_attends_to_the_left_only_and_both_directions_are_reported(tiny_gpt2):
    result = hs.probe.dependency(tiny_gpt2, SENTENCES, SENTENCES, minimum=1)
    det = result.heads[result.heads["relation"] == "det"].groupby("direction")["accuracy"].max()
    assert det[DIRECTIONS[0]] == 0  # the noun follows its determiner, which cannot see it
    assert set(det.index) == set(DIRECTIONS)


@pytest.mark.parametrize("family", ["tiny_llama", "tiny_deberta", "tiny_gemma"])
def test_grouped_queries_softmax_taps_and_windows_are_probed_alike(family, request):
    scope = request.getfixturevalue(family)
    tally = DependencyTally(*(next(iter(of.values())) for of in (scope.layers, scope.heads)))
    run_pass(scope, SENTENCES, tally, Faults())
    assert tally.counts.sum() == sum(map(len, SENTENCES))
    words = scope.read(list(DOG.words)).words().attention.values  # l h t t
    inside = slice(1, -1) if words.shape[-1] == len(DOG) + 2 else slice(None)
    attention = words[:, :, inside, inside].copy()
    attention[..., np.arange(len(DOG)), np.arange(len(DOG))] = 0
    alone = DependencyTally(*attention.shape[:2])
    run_pass(scope, [DOG], alone, Faults())
    amod = alone.labels["amod"]
    np.testing.assert_array_equal(alone.hits[amod, :, :, 0], attention[:, :, 1].argmax(-1) == 2)


def test_the_encoder_of_an_encoder_decoder_is_probed(tiny_t5):
    result = hs.probe.dependency(tiny_t5, SENTENCES, SENTENCES, minimum=1)
    assert result.layers == tiny_t5.layers["encoder"]


def test_a_sentence_longer_than_the_model_is_named_and_counted(tiny_bert):
    long = sentence("cat " * 300, [0] + [1] * 299, "root" + " obj" * 299, where="bank.conllu:77")
    result = hs.probe.dependency(tiny_bert, [CAT, long, CAT, DOG], minimum=1)
    assert result.faults.counts == {"too long": 1} and "bank.conllu:77" in result.faults.summary()
    with pytest.raises(BadInput, match=r"bank.conllu:77: 300 words make more than 128 tokens"):
        hs.probe.dependency(tiny_bert, [CAT, long], minimum=1, bad_data="refuse")


def test_no_data_at_all_is_said_in_one_sentence(tiny_bert):
    with pytest.raises(BadInput, match="no words to probe"):
        hs.probe.dependency(tiny_bert, [])


def slow_accuracies(scope, sentences):
    """From the definition, word by word, with nothing shared with the package."""
    hits, counts = defaultdict(lambda: np.zeros((6, 12, 2), int)), Counter()
    for item in sentences:
        reading = scope.read(list(item.words))
        attention, pieces = reading.attention.values, reading.part().query.word_ids
        n = len(item.words)
        groups = [[t for t, word in enumerate(pieces) if word == w] for w in range(n)]
        table = np.zeros((*attention.shape[:2], n, n))
        for i, query in enumerate(groups):
            for j, key in enumerate(groups):
                if i != j:
                    block = attention[:, :, query][:, :, :, key]
                    table[:, :, i, j] = block.sum(axis=3).mean(axis=2)
        for i, (head, relation) in enumerate(zip(item.heads, item.relations, strict=True)):
            counts[relation] += 1
            hits[relation][:, :, 0] += table[:, :, i, :].argmax(axis=-1) == head
            hits[relation][:, :, 1] += table[:, :, :, i].argmax(axis=-1) == head
    return hits, counts


@pytest.mark.slow
def test_two_hundred_sentences_score_as_a_direct_slow_implementation_says(minilm, shared_data):
    bank = Treebank(shared_data / "ud_english_ewt" / "en_ewt-ud-dev.conllu", limit=200)
    tally = DependencyTally(6, 12)
    run_pass(minilm, bank, tally, Faults())
    hits, counts = slow_accuracies(minilm, bank)
    assert set(counts) == set(tally.labels)
    for relation, number in tally.labels.items():
        assert tally.counts[number] == counts[relation]
        np.testing.assert_array_equal(tally.hits[number], hits[relation], err_msg=relation)


def test_intervals_hold_the_accuracy_and_narrow_with_data(tiny_bert):
    few = hs.probe.dependency(tiny_bert, SENTENCES * 4, SENTENCES * 4, minimum=1).summary.iloc[0]
    many = hs.probe.dependency(tiny_bert, SENTENCES * 4, SENTENCES * 64, minimum=1).summary.iloc[0]
    for row in (few, many):
        assert row["low"] <= row["accuracy"] <= row["high"]
    assert many["high"] - many["low"] < (few["high"] - few["low"]) / 2


def test_the_same_seed_gives_the_same_table(tiny_bert):
    one, other = (
        hs.probe.dependency(tiny_bert, SENTENCES * 4, minimum=1).summary for _ in range(2)
    )
    pd.testing.assert_frame_equal(one, other)


def test_an_offset_before_the_sentence_is_the_root_as_in_clarks_code():
    from headscope.probes.dependency.offsets import OFFSETS, offset_hits

    heads, sizes = np.array([[2, 0, 1, 2]]), np.array([4])
    expected = np.zeros((len(OFFSETS), 1, 4), dtype=bool)
    for place, offset in enumerate(OFFSETS):
        for word in range(4):
            guess = word + 1 + offset  # words count from 1, and 0 is the root
            guess = max(0, min(guess, 4))
            expected[place, 0, word] = guess == heads[0, word] + 1
    np.testing.assert_array_equal(offset_hits(heads, sizes), expected)
    assert not offset_hits(heads, sizes)[OFFSETS.index(-2), 0, 1]  # no wrap to the first word


def test_every_case_says_what_its_head_chose(tiny_bert):
    found = hs.probe.dependency(tiny_bert, SENTENCES, SENTENCES, minimum=1)
    best = found.summary.set_index("relation")
    assert len(found.cases) == sum(
        relation not in ("root", "punct") for one in SENTENCES for relation in one.relations
    )
    for row in found.cases.itertuples():
        gold = next(one for one in SENTENCES if " ".join(one.words) == row.text)
        assert row.where == gold.where and row.dependent == gold.words[row.dependent_at]
        assert row.relation == gold.relations[row.dependent_at]
        assert row.governor_at == gold.heads[row.dependent_at]
        head = best.loc[row.relation]
        words = tiny_bert.read(list(gold.words)).words().part()
        content = np.flatnonzero(words.query.content)
        weights = words.head_weights(int(head["layer"]), int(head["head"]))[
            np.ix_(content, content)
        ]
        if head["direction"] == DIRECTIONS[1]:
            weights = weights.T
        looks = weights[row.dependent_at].copy()
        looks[row.dependent_at] = -1
        assert looks[row.choice_at] == pytest.approx(looks.max(), abs=1e-6)
        assert row.choice == gold.words[row.choice_at]
        assert row.right == (row.choice_at == row.governor_at)
        said = min(row.dependent_at + head["offset"], len(gold) - 1)  # as in Clark et al.
        assert row.baseline_right == (said == row.governor_at)


def test_head_and_offset_are_compared_case_by_case(tiny_bert):
    many = SENTENCES * 4
    with pytest.warns(FewUnits, match=r"fewer than 5 cases have no row: .*obj \(4\)"):
        found = hs.probe.dependency(tiny_bert, many, many, minimum=5)
    row = found.summary.set_index("relation").loc["nsubj"]
    own = found.cases[found.cases["relation"] == "nsubj"]  # one subject a sentence: 12 units
    gained = own["right"].to_numpy(float) - own["baseline_right"].to_numpy(float)
    assert row["above_baseline"] == pytest.approx(gained.mean())
    assert row["above_low"] <= gained.mean() <= row["above_high"]
    # every way to deal out the signs, counted one by one
    dealt = [abs(np.dot(signs, gained)) for signs in product((1, -1), repeat=len(gained))]
    assert row["p"] == pytest.approx(np.mean(np.array(dealt) >= abs(gained.sum()) - 1e-9))
    assert row["p_holm"] >= row["p"]
    assert found.hidden["obj"] == 4 and "obj" not in set(found.summary["relation"])


def test_a_stopped_run_keeps_its_cases(tiny_bert, tmp_path):
    whole = hs.probe.dependency(tiny_bert, SENTENCES, SENTENCES, minimum=1)
    chosen = [Chosen(1, 2, 0, frozenset({"det"}), 0)]
    kept, again = (DependencyTally(2, 4, chosen) for _ in range(2))
    run_pass(tiny_bert, SENTENCES, kept, Faults())
    again.restore(kept.state())
    pd.testing.assert_frame_equal(case_table(again.cases, ["det"]), case_table(kept.cases, ["det"]))
    whole.save(tmp_path / "found.parquet")
    opened = type(whole).load(tmp_path / "found.parquet")
    pd.testing.assert_frame_equal(opened.cases, whole.cases)
    assert opened.hidden == whole.hidden


def _gold_arcs(figure):
    """The dashed arcs, as words: where each begins and where it ends."""
    (drawn,) = [one for one in figure.axes[0].collections if one.get_gid() == "gold"]
    return [tuple(int(y) for _, y in arc) for arc in drawn.get_segments()]


def test_a_drawn_case_has_its_gold_arc_and_says_what_the_head_chose(tiny_bert):
    found = hs.probe.dependency(tiny_bert, SENTENCES, SENTENCES, minimum=1)
    ways = found.summary.set_index("relation")["direction"]
    for number, case in enumerate(found.cases.itertuples()):
        figure = case_lines(tiny_bert, found, number)
        arc = (case.dependent_at, case.governor_at)
        down = ways[case.relation] == "dep→head"
        assert _gold_arcs(figure) == [arc if down else arc[::-1]]
        said = figure.texts[0].get_text()
        assert said.endswith("right" if case.right else f"wrong, it chose {case.choice}")
    with pytest.raises(BadInput, match="no case 9999"):
        case_lines(tiny_bert, found, 9999)
    with pytest.warns(FewUnits, match="have no row"):
        few = hs.probe.dependency(tiny_bert, SENTENCES * 4, SENTENCES * 4, minimum=5)
    missing = int(np.flatnonzero(few.cases["relation"] == "obj")[0])
    with pytest.raises(BadInput, match="'obj' has no row"):
        case_lines(tiny_bert, few, missing)


def test_the_best_heads_are_drawn_with_every_arc_of_their_relation(tiny_bert):
    found = hs.probe.dependency(tiny_bert, SENTENCES, SENTENCES, minimum=1)
    drawn = dict(best_heads(tiny_bert, found, [DOG]))
    assert len(drawn) > 2
    for relation, figure in drawn.items():
        assert len(_gold_arcs(figure)) == DOG.relations.count(relation)
