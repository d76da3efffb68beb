"""Planted heads are found, nothing is found in noise, and every bad pair is counted."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

import headscope as hs
from headscope.corpus.bad_data import Faults
from headscope.corpus.links.linked import Linked, Pair, of_fields
from headscope.errors import BadInput, FewUnits
from headscope.roles.maps import unit_batch
from headscope.roles.plans import plan
from headscope.roles.scores import auc
from headscope.text.tokenise import tokenise
from tests.roles.conftest import WORDS, documents, partners, planted
from tests.tiny import tiny_scope

QUIET = {"progress": False}


@pytest.fixture(scope="module")
def found():
    return hs.find_heads(planted(1, 2), documents(40), lists={"named": [(0, 0)]}, **QUIET)


def test_a_planted_head_is_found_with_its_direction_and_is_the_only_one(found):
    best = found.top(n=1).iloc[0]
    assert (best["layer"], best["head"]) == (1, 2)
    assert best["measure"] == "precision query→target" and best["value"] > 0.99
    assert best["p_holm"] < 0.01 and best["low"] > found.baseline
    forward = found.found[found.found["measure"] == "precision query→target"]
    assert list(zip(forward["layer"], forward["head"], strict=True)) == [(1, 2)]


def test_a_head_planted_the_other_way_is_found_the_other_way():
    found = hs.find_heads(planted(2, 0, back=True), documents(30, seed=1), **QUIET)
    best = found.top(n=1).iloc[0]
    assert (best["layer"], best["head"]) == (2, 0)
    assert best["measure"] == "precision target→query"


def test_on_random_labels_nothing_is_found_beyond_the_stated_error():
    """20 labellings × 12 heads × 3 directions: at 5 % any-head error one or two may be wrong."""
    scope = tiny_scope("BertModel", num_hidden_layers=3)
    wrong = 0
    for seed in range(20):
        generator = np.random.default_rng(seed)
        made = documents(14, seed=seed, words=8)
        for one in made:
            starts = np.cumsum([0, *(len(word) + 1 for word in one["text"].split())])[:-1]
            spans = [
                [int(at), int(at) + len(word)]
                for at, word in zip(starts, one["text"].split(), strict=True)
            ]
            order = generator.permutation(len(spans))
            while (order == np.arange(len(spans))).any():
                order = generator.permutation(len(spans))
            one["pairs"] = [[spans[at], spans[to]] for at, to in enumerate(order)]
        wrong += bool(len(hs.find_heads(scope, made, most_heads=1, **QUIET).found))
    assert wrong <= 4  # P(more than 4 of 20 at 5 %) < 0.3 %


def test_scores_are_what_a_loop_over_readings_finds():
    scope = tiny_scope("BertModel")
    made = documents(6, seed=3)
    found = hs.find_heads(scope, made, **QUIET)
    hits, chances, cases = np.zeros((2, 4)), [[[] for _ in range(4)] for _ in range(2)], 0
    for one in made:
        reading = scope.read(one["text"])
        spans = reading.part("encoder").query.spans
        for (start, _), (to, _) in one["pairs"]:
            query = int(np.flatnonzero(spans[:, 0] == start)[0])
            target = int(np.flatnonzero(spans[:, 0] == to)[0])
            others = [at for at in np.flatnonzero(spans[:, 0] >= 0) if at != query]
            cases += 1
            for layer in range(2):
                for head in range(4):
                    row = np.asarray(reading.part("encoder").head_weights(layer, head))[query]
                    hits[layer, head] += others[int(np.argmax(row[others]))] == target
                    labels = [at == target for at in others]
                    chances[layer][head].append(roc_auc_score(labels, row[others]))
    assert found.cases == cases
    np.testing.assert_allclose(found.map("precision query→target"), hits / cases, atol=1e-6)
    np.testing.assert_allclose(found.map("auc query→target"), np.mean(chances, -1), atol=1e-5)


def test_the_shuffled_null_is_the_mean_over_all_permutations():
    import itertools

    from headscope.roles.plans import Plan
    from headscope.roles.scores import picks, precision_by_chance

    generator = np.random.default_rng(0)
    right = np.zeros((4, 6), bool)
    right[np.arange(4), [0, 1, 1, 5]] = True
    right[2, 3] = True
    units = tuple(np.array([at]) for at in range(6))
    one = Plan(0, units[:4], units, right, right, np.ones((4, 6), bool), np.zeros(4), (), ())
    batch = unit_batch([one], 6, 6, torch.device("cpu"))
    chosen = picks(torch.from_numpy(generator.random((1, 3, 4, 6))), batch)
    values = np.array(
        [
            [right[list(order), chosen[0, head].numpy()].mean() for head in range(3)]
            for order in itertools.permutations(range(4))
        ]
    )
    mean, variance = precision_by_chance(batch, chosen)
    np.testing.assert_allclose(mean[0], values.mean(0), atol=1e-6)
    np.testing.assert_allclose(variance[0], values.var(0), atol=1e-6)


def test_heads_are_chosen_on_one_half_and_scored_on_the_other(found):
    rows = found.together.set_index("method")
    assert found.heads("best head") == [(1, 2)] and rows.loc["best head", "value"] > 0.99
    assert (1, 2) in found.heads("sparse logistic regression")
    assert rows.loc["named", "value"] < 0.6
    assert rows["documents"].max() < found.documents


def test_bad_pairs_are_counted_one_by_one():
    good = {"text": "the cat sat on the mat", "pairs": [[[4, 7], [8, 11]], [[8, 11], [19, 22]]]}
    bad = {
        "text": "the cat sat on the mat",
        "pairs": [
            [[4, 7], [19, 22]],
            [[4, 7], [40, 44]],
            [[7, 4], [8, 11]],
            [[3, 4], [8, 11]],
            "4-7",
            [[4, 7], [4, 7]],
        ],
    }
    found = hs.find_heads(
        tiny_scope("BertModel"), [*[good] * 6, bad, {"text": 3}, {"text": "a"}], **QUIET
    )
    counts = dict(found.faults.counts)
    assert counts == {
        "span outside": 1, "end before start": 1, "empty span": 1, "malformed pair": 1,
        "unaligned": 1, "malformed line": 2,
    }  # fmt: skip
    assert found.cases == 13
    with pytest.raises(BadInput, match="lies outside"):
        hs.find_heads(tiny_scope("BertModel"), [bad], bad_data="refuse", **QUIET)


def _planned(document: Linked, **given):
    faults = Faults()
    tokens = tokenise(tiny_scope("BertModel").tokenizer, [document.text]).tokens[0]
    return plan(0, document, tokens, tokens, faults, **given), dict(faults.counts)


def test_a_link_outside_its_querys_candidates_is_counted():
    """An atom that is mapped to another element has no origin among its candidates."""
    spans = ((0, 3), (4, 7)), ((8, 11), (12, 15), (16, 19))
    pairs = Pair(spans[0][0], spans[1][0]), Pair(spans[0][1], spans[1][1])
    groups = ("C", "O"), ("C", "C", "C")
    document = Linked("cat dog mat cat dog", pairs, None, *spans, groups)
    found, counts = _planned(document)
    assert found.cases.tolist() == [True, False] and counts == {"no candidate": 1}


def test_queries_with_one_candidate_and_texts_of_possible_links_are_counted():
    text, spans = "cat dog mat", ((0, 3), (4, 7), (8, 11))
    one = Linked(text, (Pair(spans[0], spans[1]),), candidates=(spans[1],))
    assert _planned(one) == (None, {"no choice": 1})
    unsure = Linked(text, tuple(Pair(span, spans[2], sure=False) for span in spans[:2]))
    assert _planned(unsure) == (None, {"only possible": 2})


def test_a_right_answer_beside_possible_ones_alone_has_no_rank():
    text, spans = "cat dog mat tree", ((0, 3), (4, 7), (8, 11), (12, 16))
    pairs = (Pair(spans[0], spans[1]), Pair(spans[0], spans[2], sure=False),
             Pair(spans[3], spans[1]))  # fmt: skip
    found, _ = _planned(Linked(text, pairs, None, (spans[0], spans[3]), spans[1:3]))
    batch = unit_batch([found], 6, 6, torch.device("cpu"))
    tally = auc(torch.tensor([[[[0.9, 0.1], [0.9, 0.1]]]]), batch)
    assert tally.sums.tolist() == [[1.0]] and tally.counts.tolist() == [1.0]


def test_documents_that_are_too_long_are_counted():
    made = documents(8)
    long = {"text": "cat " * 200, "pairs": [[[0, 3], [4, 7]]]}
    found = hs.find_heads(tiny_scope("BertModel"), [*made, long], **QUIET)
    assert found.faults.counts["too long"] == 1 and found.documents == len(made)


def test_few_documents_have_neither_interval_nor_p():
    with pytest.warns(FewUnits):
        found = hs.find_heads(tiny_scope("BertModel"), documents(3), **QUIET)
    assert found.table["p"].isna().all() and found.table["low"].isna().all()


def test_cross_heads_of_a_translator_are_scored_by_both_texts(tiny_t5):
    made = [
        {"text": "the cat sat", "other": "red dog ran", "pairs": [[[0, 3], [0, 3]]]},
        {"text": "a mat", "other": "the tree", "pairs": [[[4, 8], [2, 5]]]},
    ] * 4
    found = hs.find_heads(tiny_t5, made, **QUIET)
    assert found.kind == "cross" and found.cases == 8
    reading = tiny_t5.read("the cat sat", target="red dog ran")
    part = reading.part("cross")
    query = int(np.flatnonzero(part.query.spans[:, 0] == 0)[0])
    keys = np.flatnonzero(part.key.content)
    expected = [
        float(np.argmax(np.asarray(part.head_weights(0, head))[query][keys]) == 0)
        for head in range(4)
    ]
    only = hs.find_heads(tiny_t5, made[:1] * 6, **QUIET)
    np.testing.assert_allclose(only.map("precision query→target")[0], expected)


@pytest.mark.filterwarnings("ignore::headscope.errors.FewUnits")
def test_a_planted_cross_head_aligns_a_translation_that_reorders_words(tmp_path):
    """Each word is translated by its partner, in another order: no fixed offset aligns them."""
    scope = tiny_scope("T5ForConditionalGeneration")
    ids = {word: scope.tokenizer.convert_tokens_to_ids(word) for word in WORDS}
    link = {ids[target]: ids[source] for source, target in partners().items()}
    seen = []
    scope.model.register_forward_pre_hook(
        lambda module, args, kwargs: seen.append(kwargs), with_kwargs=True
    )

    def edit(call):
        if call.kind != "cross" or call.layer != 1:
            return None
        given, asked = seen[-1]["input_ids"], seen[-1]["decoder_input_ids"]
        wanted = torch.tensor([[link.get(int(one), -1) for one in row] for row in asked])
        linked = (wanted[:, :, None] == given[:, None, :]).float()
        weights = call.weights.clone()
        weights[:, 2] = torch.where(linked.any(-1, keepdim=True), linked, weights[:, 2])
        return weights

    generator, lines = np.random.default_rng(0), []
    for _ in range(16):
        source = list(generator.permutation(WORDS)[:6])
        order = generator.permutation(6)  # target word i translates source word order[i]
        target = [partners()[source[at]] for at in order]
        pairs = [f"{at}-{to}" for to, at in enumerate(order)]
        lines.append(f"{' '.join(source)} ||| {' '.join(target)} ||| {' '.join(pairs)}\n")
    (tmp_path / "gold.txt").write_text("".join(lines))
    planted_scope = dataclasses.replace(scope, edits=(edit,))
    found = hs.probe.alignment(planted_scope, tmp_path / "gold.txt", most_heads=1, **QUIET)
    errors = found.map("alignment error rate query→target")
    assert found.kind == "cross" and found.cases == 96
    assert errors[1, 2] == 0 and np.sort(errors, axis=None)[1] > 0.5
    assert found.heads("best head") == [(1, 2)] and found.baseline < 0.4


def test_a_stopped_run_resumes_to_the_same_numbers(tmp_path, monkeypatch):
    from headscope.errors import Stopped
    from headscope.roles import encoded

    monkeypatch.setattr(encoded, "BATCH_CHARACTERS", 200)
    scope, made = tiny_scope("BertModel"), documents(30)
    whole = hs.find_heads(scope, made, **QUIET)
    seen = 0

    def stop(progress):
        nonlocal seen
        seen += 1
        if seen == 4:
            raise KeyboardInterrupt

    with pytest.raises(Stopped):
        hs.find_heads(scope, made, output=tmp_path / "f.parquet", progress=stop)
    again = hs.find_heads(scope, made, output=tmp_path / "f.parquet", **QUIET)
    np.testing.assert_allclose(again.table["value"], whole.table["value"], atol=1e-6)
    assert again.together.equals(whole.together)


def test_heads_are_written_for_other_software(found, tmp_path):
    found.to_json(tmp_path / "heads.json", "best head")
    told = json.loads((tmp_path / "heads.json").read_text())
    assert told["heads"][0]["layer"] == 1 and told["heads"][0]["head"] == 2
    assert "alignment_heads" not in told
    found.save(tmp_path / "found.parquet")
    again = hs.open(tmp_path / "found.parquet")
    assert again.table.equals(found.table) and again.together.equals(found.together)
    np.testing.assert_array_equal(again.maps[0].right, found.maps[0].right)
    assert r"\toprule" in found.to_latex()


def test_examples_open_in_a_view(found):
    scope = planted(1, 2)
    row = found.examples.iloc[0]
    assert row["right"] and row["target"] == row["chosen"]
    reading = found.read_example(scope, 0)
    assert row["query"] in reading.part("encoder").query.labels


def test_what_is_not_a_document_is_refused():
    with pytest.raises(BadInput):
        hs.find_heads(tiny_scope("BertModel"), ["a text"], **QUIET)
    assert of_fields({"text": "a b", "pairs": []}, "here", Faults()) is None
