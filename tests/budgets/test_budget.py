"""A head budget equals a plain loop over heads, resumes, and exports what serving code reads."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import headscope as hs
from headscope.budgets.heads import KeyValueHeads
from headscope.budgets.result import memory_of, recommending
from headscope.budgets.texts import ANSWER, CUE, cut_texts, halves
from headscope.cli import build
from headscope.edits.disable import Disabled
from headscope.errors import BadInput
from tests.tiny import tiny_scope

SINK, WINDOW, TOKENS = 2, 12, 64
WORDS = "the cat sat on the mat and the dog ran to the red house . he said that it was blue . "
CORPUS = [
    " ".join(np.random.default_rng(7).permutation(WORDS.split()).tolist()) for _ in range(4)
] + [" ".join(np.random.default_rng(n).permutation(WORDS.split() * 8).tolist()) for n in range(6)]
SETTINGS = {
    "sink": SINK, "window": WINDOW, "max_tokens": TOKENS, "limit": 12, "needles": 12,
    "shares": (0.5, 1.0), "draws": 2, "progress": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def llama():
    return tiny_scope("LlamaForCausalLM", num_key_value_heads=2)


@pytest.fixture(scope="module")
def found(llama):
    return hs.budget(llama, CORPUS, tolerance=10.0, **SETTINGS)


def plain_loss(scope, texts) -> float:
    """The loss of every token that stands behind more than sink and window, one text at a time."""
    lost, count = 0.0, 0
    for ids in texts:
        given = torch.tensor([ids])
        logits = scope.forward({"input_ids": given}).logits[0, SINK + WINDOW : -1].double()
        right = given[0, SINK + WINDOW + 1 :]
        lost -= float(logits.log_softmax(-1)[torch.arange(len(right)), right].sum())
        count += len(right)
    return lost / count


def test_costs_equal_a_plain_loop_over_heads(llama, found):
    texts = cut_texts(llama, CORPUS, TOKENS, 12)[::2]
    whole = plain_loss(llama, texts)
    for layer in (0, 1):
        for group in (0, 1):
            heads = ((layer, 2 * group), (layer, 2 * group + 1))
            edited = llama.edited(Disabled("decoder", heads, "streaming", (SINK, WINDOW)))
            cost = float(found.map("loss_cost").sel(layer=layer, head=group))
            assert cost == pytest.approx(plain_loss(edited, texts) - whole, abs=2e-6)


def test_sets_equal_restricting_them_together_on_other_texts(llama, found):
    held = cut_texts(llama, CORPUS, TOKENS, 12)[1::2]
    row = found.curve[(found.curve["texts"] == "held out") & (found.curve["order"] == "exact")]
    rise = plain_loss(found.restrict(llama), held) - plain_loss(llama, held)
    assert float(row["rise"].iloc[0]) == pytest.approx(rise, abs=2e-6)
    assert float(row["low"].iloc[0]) < rise < float(row["high"].iloc[0])


def test_the_share_outside_is_what_the_maps_hold_outside(llama, found):
    texts = cut_texts(llama, CORPUS, TOKENS, 12)[::2]
    wanted = np.zeros((2, 2))
    for ids in texts:
        maps = llama.read_inputs({"input_ids": torch.tensor([ids])}).attention.values  # l h t s
        position = np.arange(TOKENS)
        far = (position[:, None] - position >= WINDOW) & (position >= SINK)
        rows = (maps * far).sum(-1)[:, :, 2 * (SINK + WINDOW) * 2 :]  # the last stretch
        wanted += rows.mean(-1).reshape(2, 2, 2).mean(-1) / len(texts)
    np.testing.assert_allclose(found.map("outside"), wanted, atol=1e-5)


def test_the_estimate_is_the_slope_of_a_gate(llama, found):
    """Closing each gate by a little changes the loss by that share of the estimate."""
    texts = cut_texts(llama, CORPUS, TOKENS, 12)
    chosen, _ = halves(llama, texts, 12, SINK, WINDOW, 0)
    little = 1e-2

    def nearly(call):
        if call.layer != 1:
            return None
        from headscope.edits.modes.streaming import instead

        few, weights = instead(call, (SINK, WINDOW)), call.weights.clone()
        weights[:, :2] = (1 - little) * weights[:, :2] + little * few[:, :2]
        return weights

    def needle_loss(scope) -> float:
        lost = 0.0
        for needle, answer in zip(chosen.needles, chosen.answers, strict=True):
            logits = scope.forward({"input_ids": torch.tensor([needle.ids])}).logits[0, -ANSWER:]
            lost -= float(logits.double().log_softmax(-1)[range(ANSWER), list(answer)].mean())
        return lost / len(chosen.needles)

    edited = llama.edited(nearly)
    slope = plain_loss(edited, texts[::2]) - plain_loss(llama, texts[::2])
    slope += needle_loss(edited) - needle_loss(llama)
    assert float(found.map("estimate").sel(layer=1, head=0)) == pytest.approx(
        slope / little, abs=0.02
    )


def test_needles_stand_outside_the_window_and_are_asked_for_at_the_end(llama):
    texts = cut_texts(llama, CORPUS, TOKENS, 12)
    for half, own in zip(
        halves(llama, texts, 12, SINK, WINDOW, 0), (texts[::2], texts[1::2]), strict=True
    ):
        for needle, answer in zip(half.needles, half.answers, strict=True):
            ids = needle.ids
            assert ids[needle.at : needle.at + ANSWER] == answer
            assert ids[-CUE - ANSWER + 1 :] == (*ids[needle.at - CUE : needle.at], *answer[:-1])
            assert needle.at + ANSWER <= len(ids) - ANSWER - WINDOW
            stretch = ids[needle.at - CUE : needle.at + ANSWER]
            assert any(stretch == tuple(text[n : n + 12]) for text in own for n in range(TOKENS))


def test_memory_counts_whole_and_restricted_heads(found):
    token = 2 * 8 * 2  # key and value, 8 numbers each of two bytes
    assert found.memory(8192, 0.0) == 4 * 8192 * token
    assert found.memory(8192, 0.5) == 2 * (8192 + SINK + WINDOW) * token
    assert found.memory(5, 1.0) == 4 * 5 * token  # a short text has no more to keep


def test_a_set_of_random_heads_has_its_own_memory():
    """Heads of layers with a window of their own save less than heads of the others."""
    known = KeyValueHeads((0, 1), (64, None), 1, 2, 8)
    local, whole = (memory_of(known, [(layer, 0)], 16) for layer in (0, 1))
    token = 2 * 8 * 2
    assert local["memory_8k"] == (16 + 8192) * token and whole["memory_8k"] == (64 + 16) * token
    assert local["saved_8k"] == pytest.approx(48 / (64 + 8192))


def test_layers_with_a_smaller_window_of_their_own_are_left_out(tiny_gemma):
    found = hs.budget(tiny_gemma, CORPUS, **{**SETTINGS, "draws": 0})
    assert {layer for layer, _ in found.order} == {1}  # layer 0 sees 4 tokens as it is
    assert float(found.map("cost").sel(layer=0, head=0)) == 0
    assert found.memory(8192, 1.0) == (2 * 4 + 2 * (SINK + WINDOW)) * 2 * 8 * 2


def test_a_stopped_budget_resumes_with_the_same_numbers(llama, found, tmp_path):
    calls = 0

    def stop(progress):
        nonlocal calls
        calls += 1
        if calls == 30:
            raise KeyboardInterrupt

    output = tmp_path / "budget.parquet"
    with pytest.raises(hs.Stopped):
        hs.budget(llama, CORPUS, tolerance=10.0, output=output, **{**SETTINGS, "progress": stop})
    assert (tmp_path / "budget.parquet.partial").is_dir()
    again = hs.budget(llama, CORPUS, tolerance=10.0, output=output, **SETTINGS)
    np.testing.assert_allclose(again.table["value"], found.table["value"], atol=1e-6)
    np.testing.assert_allclose(again.curve["rise"], found.curve["rise"], atol=1e-6)
    assert hs.open(output).recommended == found.recommended


def test_exports_hold_the_order_and_the_recommended_set(found, tmp_path):
    found.to_json(tmp_path / "heads.json")
    made = json.loads((tmp_path / "heads.json").read_text())
    assert [tuple(one) for one in made["streaming"]] == list(found.recommended)
    found.to_json(tmp_path / "more.json", share=0.75)
    more = json.loads((tmp_path / "more.json").read_text())["streaming"]
    assert [tuple(one) for one in more] == list(found.order[:3])
    found.to_duo_attention(tmp_path / "duo")
    # as DuoAttention reads it
    scores = np.loadtxt(tmp_path / "duo" / "full_attention_heads.tsv", dtype=float, delimiter="\t")
    config = json.loads((tmp_path / "duo" / "config.json").read_text())
    scores = np.clip(scores, 0, 1)
    first = np.argsort(scores, axis=None)[: round(config["sparsity"] * scores.size)]
    assert {(int(at) // 2, int(at) % 2) for at in first} == set(found.recommended)
    assert (config["sink_size"], config["recent_size"]) == (SINK, WINDOW - 1)


def test_key_value_heads_are_never_taken_for_query_heads(llama, found, tmp_path):
    found.save(tmp_path / "budget.parquet")
    for one in (found, hs.open(tmp_path / "budget.parquet")):
        assert one.query_heads([(1, 1), (0, 0)]) == ((1, 2), (1, 3), (0, 0), (0, 1))
        scope = llama.emphasise((0, 2), heads=one.query_heads(one.order[-1:]))
        assert len(scope.edits[0].heads) == 2
        for edit in (
            lambda heads: llama.emphasise((0, 2), heads=heads),
            lambda heads: llama.without(heads=heads),
        ):
            with pytest.raises(BadInput, match=r"is a key-value head of a budget"):
                edit(one.order[-1:])
    for heads in ([(0, 2)], [0], (1, 0), [([0], 1)], ["ab"]):
        with pytest.raises(BadInput, match="no key-value head"):
            found.query_heads(heads)  # pyright: ignore


def test_shares_of_as_many_heads_are_one_row(llama):
    given = {**SETTINGS, "limit": 4, "needles": 1, "draws": 0, "shares": (0.1, 0.4, 0.5, 0.6, 1.0)}
    rows = hs.budget(llama, CORPUS, **given).curve
    assert rows[rows["texts"] == "chosen"]["heads"].tolist() == [0, 2, 4]  # of four heads


def test_nothing_is_recommended_where_every_set_costs_too_much(found):
    rows = [{"rise": 0.5, "kept": 1.0, "heads": 2}, {"rise": 0.0, "kept": 0.9, "heads": 3}]
    assert recommending(found, [{**rows[0], "rise": 11.0}, rows[1]], 0.95).recommended == ()
    assert len(recommending(found, rows, 0.95).recommended) == 2


def test_what_cannot_be_budgeted_is_refused(llama, tiny_bert):
    with pytest.raises(BadInput, match="window"):
        hs.budget(llama, CORPUS, sink=2, window=60, max_tokens=64)
    with pytest.raises(BadInput, match="4 or"):
        hs.budget(llama, ["too short"], window=12, max_tokens=64)
    with pytest.raises(BadInput, match="continues text"):
        hs.budget(tiny_bert, CORPUS, sink=2, window=12, max_tokens=64)


def test_the_command_writes_a_page_and_head_files(llama, tmp_path):
    llama.model.save_pretrained(tmp_path / "model")
    llama.tokenizer.save_pretrained(tmp_path / "model")
    (tmp_path / "corpus.txt").write_text("\n\n".join(CORPUS))
    arguments = [
        "budget", str(tmp_path / "corpus.txt"), "-m", str(tmp_path / "model"), "--sink", "2",
        "--window", "12", "--max-tokens", "64", "--needles", "4", "--limit", "8", "--draws", "1",
        "-o", str(tmp_path / "b.parquet"), "--page", str(tmp_path / "b.html"),
        "--heads-file", str(tmp_path / "b.json"), "--duo-attention", str(tmp_path / "duo"),
    ]  # fmt: skip
    done = CliRunner().invoke(build(), arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "key-value heads can be restricted" in done.output
    page = (tmp_path / "b.html").read_text()
    assert page.count("<svg") >= 4 and "http://" not in page.replace("http://www.w3.org", "")
    assert isinstance(hs.open(tmp_path / "b.parquet"), hs.Budget)
