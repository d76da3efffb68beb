"""Monitors: what their heads look at, what cross-validation finds, and what chance would."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import headscope as hs
from headscope.errors import BadInput, FewUnits
from headscope.grounding.monitors import fit as fitting
from headscope.grounding.monitors.labelled import labelled_of
from headscope.grounding.monitors.shares import Looks, shares_of
from headscope.runs import Progress
from tests.reading.test_conversation import scope_with
from tests.text.test_chat import TEMPLATES

WORDS = "cat dog mat store house tree red green blue one two three".split()
TEXTS = [
    f"the {a} sat on a {b} . he ran to it . {b} was fresh" for a, b in itertools.pairwise(WORDS)
]


@pytest.fixture(scope="module")
def scope() -> hs.Scope:
    return scope_with(TEMPLATES["chatml"], positions=4000)


def test_shares_are_sums_over_the_spans_of_a_reading(scope):
    documents, answer = ["the cat sat .", "one two"], "a cat ran"
    _, found = shares_of(scope, Looks(True, True), "who ?", documents, answer)
    reading = scope.read(messages="who ?", documents=documents, answer=answer)
    mass = reading.by_span(["document 1", "document 2", "user 1", "answer"], predicting=True)
    mass = mass.to_numpy()[:, :, 1:].astype(float)  # before its first word an answer has none
    data, said, own = mass[..., :2].sum(-1), mass[..., 2], mass[..., 3]
    np.testing.assert_allclose(found[0], ((data + said) / (data + said + own)).mean(2), atol=1e-5)
    np.testing.assert_allclose(found[1], (said / (data + said)).mean(2), atol=1e-5)
    _, some = shares_of(scope, Looks(True, True), "who ?", documents, answer, layers=[1])
    np.testing.assert_allclose(some[:, 0], found[:, 1], atol=1e-6)


def test_a_prompt_without_an_answer_is_looked_at_from_its_last_token(scope):
    documents = ["the cat sat .", "one two"]
    _, found = shares_of(scope, Looks(False, True), "who ?", documents, None)
    reading = scope.read(messages="who ?", documents=documents)
    part = reading.part()
    last = np.stack([one.head_weights(slice(0, 4), [-1])[:, 0] for one in part.layers])
    from headscope.reading.by_span import tokens_in

    spans = {span.name: tokens_in(part.key, span) for span in reading.spans}
    said = last[..., spans["user 1"]].sum(-1)
    data = last[..., spans["document 1"] | spans["document 2"]].sum(-1)
    np.testing.assert_allclose(found[0], said / (said + data), atol=1e-5)


def made(signal: float, examples: int = 60, seed: int = 0) -> tuple[np.ndarray, ...]:
    chance = np.random.default_rng(seed)
    labels = np.arange(examples) % 2 == 0
    shares = chance.random((examples, 2, 3, 8))
    shares[labels, 1, 2, 5] += signal
    return shares, labels, np.arange(examples) // 2


def monitor_of(scope, shares, labels, groups, shuffles=60):
    looks = Looks(True, True)
    return fitting._monitor(scope, looks, [0, 1, 2], shares, labels, groups, 4, shuffles, 0)


def test_the_head_that_tells_is_found_and_weighs_most(scope):
    found = monitor_of(scope, *made(0.9))
    best = max(found.heads, key=lambda one: abs(one.weight))
    assert (best.share, best.layer, best.head) == ("instruction", 2, 5) and best.weight > 0
    assert found.auroc > 0.85 and found.low <= found.auroc <= found.high
    assert found.auroc > found.null and found.p < 0.05
    assert "AUROC" in str(found) and len(found.table) == 4


def test_shuffled_labels_stay_within_the_null(scope):
    """Heads chosen outside the folds would score far above a half on pure noise."""
    found = [monitor_of(scope, *made(0.0, seed=seed), shuffles=40) for seed in range(6)]
    assert np.mean([one.auroc for one in found]) == pytest.approx(0.5, abs=0.1)
    assert sum(one.auroc > one.null for one in found) <= 1
    shares, labels, _groups = made(0.0)
    chosen = fitting._chosen(fitting._ranks(shares.reshape(60, -1)), labels, 4)
    x = shares.reshape(60, -1)[:, chosen]
    centre, scale, weights, _ = fitting._fitted(x, labels)
    assert fitting.auroc_of((x - centre) / scale @ weights, labels) > 0.65  # as in-sample would


def test_examples_of_a_group_with_one_label_are_shuffled_together():
    """Shuffled one by one, examples that resemble each other raised 20 % false alarms."""
    groups = np.repeat(np.arange(20), 3)
    labels = np.repeat(np.arange(20) % 2 == 0, 3)
    labels[:3] = True, False, True  # a group with both
    for seed in range(20):
        found = fitting._shuffled(labels, groups, np.random.default_rng(seed)).reshape(20, 3)
        assert (found[1:].min(1) == found[1:].max(1)).all() and found[0].sum() == 2
        assert found.sum() == labels.sum()
    assert (found != labels.reshape(20, 3)).any()


def test_five_groups_have_neither_a_p_value_nor_an_interval(scope):
    labelled = hs.monitor.injected(TEXTS[:5])
    with pytest.warns(FewUnits, match="5 groups are too few"):
        found = hs.monitor.fit(scope, labelled, shuffles=2, progress=False)
    assert np.isnan([found.p, found.low, found.high]).all() and "p =" not in str(found)


def test_an_interval_is_as_wide_as_other_fits_make_it():
    chance, labels = np.random.default_rng(0), np.arange(40) % 2 == 0
    scores = chance.normal(size=40)
    plain, wider = (
        fitting.auroc_interval(scores, labels, np.arange(40), np.random.default_rng(0), 200, null)
        for null in ((), (0.1, 0.9, 0.2, 0.8))
    )
    assert wider[0] < plain[0] < plain[1] < wider[1]


def test_auroc_is_scikit_learns():
    from sklearn.metrics import roc_auc_score

    chance = np.random.default_rng(1)
    scores, labels = chance.integers(0, 5, 40).astype(float), chance.random(40) < 0.4
    assert fitting.auroc_of(scores, labels) == pytest.approx(roc_auc_score(labels, scores))


def test_a_monitor_is_fitted_kept_and_applied(scope, tmp_path):
    path = tmp_path / "monitor.json"
    examples = hs.monitor.injected(TEXTS)
    found = hs.monitor.fit(scope, examples, most_heads=3, shuffles=20, output=path, progress=False)
    assert found.examples == 2 * len(TEXTS) and found.looks == Looks(False, True)
    again = hs.open(path)
    assert again.heads == found.heads
    one = examples[0]
    score = again.score(scope, one.messages, one.documents)
    layers, shares = shares_of(scope, found.looks, one.messages, one.documents, None)
    odds = found.intercept + sum(
        head.weight
        * (shares[0, layers.index(head.layer), head.head] - head.mean) / head.scale
        for head in found.heads
    )  # fmt: skip
    assert score == pytest.approx(1 / (1 + np.exp(-odds)), abs=1e-5)
    with pytest.raises(BadInput, match="no answer and documents"):
        again.score(scope, "who ?", ["a cat"], "the cat")
    with pytest.raises(BadInput, match="was fitted on"):
        again.score(scope_with(TEMPLATES["chatml"], "GPT2LMHeadModel"), "who ?", ["a cat"])
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(BadInput, match="holds no monitor"):
        hs.monitor.Monitor.load(tmp_path / "bad.json")


def test_a_stopped_fit_resumes(scope, tmp_path, monkeypatch):
    path, examples = tmp_path / "monitor.json", hs.monitor.context_kept(TEXTS)[:12]
    options = {"most_heads": 3, "shuffles": 5, "progress": False}
    whole = hs.monitor.fit(scope, examples, **options)
    read: list[str] = []

    def stop(progress: Progress) -> None:
        if progress.done == 7:
            raise KeyboardInterrupt

    with pytest.raises((hs.Stopped, KeyboardInterrupt)):
        hs.monitor.fit(scope, examples, output=path, **{**options, "progress": stop})
    monkeypatch.setattr(fitting, "shares_of", lambda *g: read.append(g[4]) or shares_of(*g))
    resumed = hs.monitor.fit(scope, examples, output=path, **options)
    assert len(read) == 12 - 7
    assert [one.head for one in resumed.heads] == [one.head for one in whole.heads]
    assert resumed.auroc == pytest.approx(whole.auroc)


def test_context_is_kept_or_taken_away():
    made = hs.monitor.context_kept(TEXTS, others=2)
    for kept, gone in zip(made[::2], made[1::2], strict=True):
        assert kept.label and not gone.label
        assert (kept.answer, kept.group, kept.messages) == (gone.answer, gone.group, gone.messages)
        assert len(kept.documents) == len(gone.documents) == 3
        assert any(kept.answer in one["text"] for one in kept.documents)
        assert not any(kept.answer in one["text"] for one in gone.documents)


def test_instructions_are_injected_into_one_document():
    made = hs.monitor.injected(TEXTS, others=1)
    for bad, good in zip(made[::2], made[1::2], strict=True):
        changed = [
            (one["text"], two["text"])
            for one, two in zip(bad.documents, good.documents, strict=True)
            if one != two
        ]
        assert bad.label and not good.label and len(changed) == 1
        assert bad.messages == good.messages and bad.answer is None


def test_labelled_examples_are_kept_as_jsonl(tmp_path):
    examples = hs.monitor.context_kept(TEXTS)
    hs.monitor.save_labelled(examples, tmp_path / "a.jsonl")
    again = labelled_of(tmp_path / "a.jsonl")
    assert again == [
        one.__class__(one.messages, one.documents, one.answer, one.label, one.group)
        for one in examples
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows[:6], "10 examples"),
        (lambda rows: [{**one, "label": True} for one in rows], "All examples have the label True"),
        (lambda rows: [{**one, "label": "yes"} for one in rows], "needs a label"),
        (lambda rows: [{**rows[0], "answer": None}, *rows[1:]], "Example 2 and the first differ"),
        (lambda rows: [{**one, "group": "a"} for one in rows], "fewer than 5 groups"),
        (lambda rows: [{**one, "messages": []} for one in rows], "no messages"),
    ],
)
def test_examples_that_cannot_be_fitted_are_refused(scope, tmp_path, change, said):
    path = tmp_path / "a.jsonl"
    hs.monitor.save_labelled(hs.monitor.context_kept(TEXTS), path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    with pytest.raises(BadInput, match=said):
        hs.monitor.fit(scope, change(rows), progress=False)


def test_too_few_documents_are_refused():
    with pytest.raises(BadInput, match="4 documents"):
        hs.monitor.injected(["one two three four five ."])
    with pytest.raises(BadInput, match="others="):
        hs.monitor.injected(TEXTS[:4], others=9)
