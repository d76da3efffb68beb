"""Emphasis equals scores raised by a logarithm; a factor of 1 changes nothing, to the bit."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.edits import disable
from headscope.errors import BadInput
from headscope.reading.by_span import tokens_in
from headscope.text.chat import Span
from tests.reading.test_conversation import scope_with
from tests.text.test_chat import TEMPLATES
from tests.tiny import tiny_scope

TEXT = "the cat sat on the mat and the dog ran to the red house"
HEADS = [(0, 1), (1, 2)]


@pytest.fixture(scope="module")
def llama():
    return tiny_scope("LlamaForCausalLM", num_key_value_heads=2)


def by_hand(scope, inputs, positions, factor, monkeypatch):
    """The model's own eager attention with log(factor) added to the scores of these keys."""
    home = sys.modules[type(scope.model).__module__]
    own = home.eager_attention_forward

    def raised(module, query, key, value, attention_mask, **options):
        extra = torch.zeros(1, query.shape[1], 1, key.shape[2])
        for layer, head in HEADS:
            if layer == module.layer_idx:
                extra[0, head, 0, list(positions)] = math.log(factor)
        return own(module, query, key, value, attention_mask + extra, **options)

    with monkeypatch.context() as patch, torch.no_grad():
        patch.setattr(home, "eager_attention_forward", raised)
        patch.setattr(scope.model.config, "_attn_implementation_internal", "eager")
        return scope.model(**inputs).logits


@pytest.mark.parametrize("lazily", [False, True])
@pytest.mark.parametrize("factor", [0.25, 6.0])
def test_emphasis_equals_a_direct_computation(llama, factor, lazily, monkeypatch):
    batch = llama.encode([TEXT])
    inputs = {name: batch.inputs[name] for name in ("input_ids", "attention_mask")}
    labels = batch.tokens[0].labels
    positions = tuple(range(labels.index("dog"), labels.index("dog") + 2))
    wanted = by_hand(llama, inputs, positions, factor, monkeypatch)
    monkeypatch.setattr(disable, "LARGE", 0 if lazily else 2**40)
    edited = llama.emphasise("dog ran", text=TEXT, heads=HEADS, factor=factor)
    torch.testing.assert_close(edited.forward(inputs).logits, wanted, atol=1e-5, rtol=1e-5)
    plain = llama.forward(inputs).logits
    assert (plain - wanted).abs().max() > 1e-4


def test_a_factor_of_one_changes_nothing_to_the_bit(llama):
    inputs = llama.encode([TEXT]).inputs
    edited = llama.emphasise((2, 5), factor=1.0)
    assert torch.equal(edited.forward(inputs).logits, llama.forward(inputs).logits)
    # and as an edit that is made
    made = llama.without(heads=HEADS, mode="emphasis", weights=((2, 3, 4), 1.0))
    weights = llama.read(TEXT).attention.values
    assert np.array_equal(made.read(TEXT).attention.values, weights)
    torch.testing.assert_close(made.forward(inputs).logits, llama.forward(inputs).logits)


def test_rows_keep_their_sum_and_other_heads_their_rows(llama):
    before = llama.read(TEXT).attention.values
    after = (
        llama.emphasise("red", text=TEXT, heads=[(0, 1)], factor=9.0).read(TEXT).attention.values
    )
    np.testing.assert_allclose(after.sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(after[0, [0, 2, 3]], before[0, [0, 2, 3]], atol=1e-6)
    at = list(llama.encode([TEXT]).tokens[0].labels).index("red")
    odds = after[0, 1, -1, at] / after[0, 1, -1, 1]
    assert odds == pytest.approx(9 * before[0, 1, -1, at] / before[0, 1, -1, 1], rel=1e-3)


def test_emphasis_holds_while_the_model_writes(llama):
    edited = llama.emphasise("red house", text=TEXT, factor=50.0)
    ids = llama.encode([TEXT]).inputs["input_ids"]
    length = ids.shape[1]
    for _ in range(4):  # without a cache, the whole text every time
        following = edited.forward({"input_ids": ids}).logits[:, -1].argmax(-1, keepdim=True)
        ids = torch.cat([ids, following], 1)
    spelled = llama.tokenizer.convert_ids_to_tokens(ids[0, length:].tolist())
    written = edited.generate(TEXT, 4).tokens[length:]
    assert [one.strip("#") for one in written] == [one.strip("#") for one in spelled]
    assert llama.generate(TEXT, 4).tokens[length:] != written


def test_a_span_is_words_or_tokens(llama):
    for wrong, text in (
        ("zebra", TEXT), ("the", TEXT), ("", TEXT), ("cat", None), ((3, 3), None), ((-1, 2), None),
    ):  # fmt: skip
        with pytest.raises(BadInput):
            llama.emphasise(wrong, text=text)
    with pytest.raises(BadInput, match="0 or more"):
        llama.emphasise((1, 2), factor=-1.0)


@pytest.mark.parametrize("template", ["chatml", None])
def test_a_span_of_a_conversation_is_the_tokens_that_its_reading_has(template):
    """A template's text gets no begin token of the tokenizer's; a plain layout does."""
    scope = scope_with(TEMPLATES.get(template))
    asked = {"messages": "who sat ?", "documents": ["a cat sat .", "one two three"]}
    reading = scope.read(**asked)
    span = next(one for one in reading.spans if one.name == "document 2")
    steered = scope.emphasise(span, text=reading.texts[0], factor=9).read(**asked)
    inside = tokens_in(reading.part().key, span)
    assert 0 < inside.sum() < len(inside)
    expected = reading.attention.to_numpy()[0] * np.where(inside, 9, 1)  # later layers read others
    expected /= expected.sum(-1, keepdims=True)
    np.testing.assert_allclose(steered.attention.to_numpy()[0], expected, atol=1e-5)
    with pytest.raises(BadInput, match="reading's own text"):
        scope.emphasise(span, text="who sat ?")


def test_effects_of_a_span_count_tokens_as_the_text_is_read(llama):
    """What is measured reads the text itself, with its begin token."""
    span = Span("x", "message", TEXT.index("dog"), TEXT.index("dog") + len("dog ran"))
    by_span = hs.emphasis.effect(llama, TEXT, span, answer="red")
    by_words = hs.emphasis.effect(llama, TEXT, "dog ran", answer="red")
    assert by_span.after == by_words.after != by_words.before


EXAMPLES = [
    (f"{a} sat on the {b} and the {c} ran", c, d)
    for a, b, c, d in (
        ("he", "mat", "dog", "red"), ("she", "tree", "cat", "blue"), ("one", "house", "dog", "in"),
        ("he", "store", "cat", "green"), ("she", "mat", "dog", "two"), ("it", "tree", "cat", "at"),
    )
]  # fmt: skip


def test_chosen_heads_are_those_that_gain_alone_and_are_tested_on_other_examples(llama):
    found = hs.emphasis.choose(llama, EXAMPLES, n=2, draws=3, progress=False)
    gains = {}
    for layer, head in np.ndindex(2, 4):
        effects = [
            hs.emphasis.effect(llama, text, span, answer=answer, heads=[(layer, head)])
            for text, span, answer in EXAMPLES[::2]
        ]
        gains[layer, head] = np.mean([one.after - one.before for one in effects])
        mine = float(found.map("gain").sel(layer=layer, head=head))
        assert mine == pytest.approx(gains[layer, head], abs=1e-5)
    assert found.chosen == tuple(sorted(gains, key=lambda head: -gains[head])[:2])
    both = [
        hs.emphasis.effect(llama, text, span, answer=answer, heads=found.chosen)
        for text, span, answer in EXAMPLES[1::2]
    ]
    mean = np.mean([one.after - one.before for one in both])
    assert float(found.held_out["gain"].iloc[0]) == pytest.approx(mean, abs=1e-5)
    drawn = found.held_out[found.held_out["heads"] == "random"]["gain"]
    assert len(drawn) == 3 and found.beats_random == (mean > drawn.max())
    assert ("do not beat" in found.verdict) != found.beats_random


def test_the_command_says_before_and_after_and_chooses_heads(llama, tmp_path):
    from typer.testing import CliRunner

    from headscope.cli import build

    llama.model.save_pretrained(tmp_path / "model")
    llama.tokenizer.save_pretrained(tmp_path / "model")
    model = ["-m", str(tmp_path / "model")]
    said = CliRunner().invoke(
        build(), ["emphasise", TEXT, "--span", "dog", "--answer", "red", "--heads", "0-1", *model]
    )
    assert said.exit_code == 0 and "before" in said.output and "nats" in said.output
    lines = "\n".join(
        f'{{"text": "{text}", "span": "{span}", "answer": "{answer}"}}'
        for text, span, answer in EXAMPLES
    )
    (tmp_path / "examples.jsonl").write_text(lines)
    words = ["--examples", str(tmp_path / "examples.jsonl"), "--best", "2", "--draws", "2"]
    done = CliRunner().invoke(
        build(), ["emphasise", *words, *model, "-o", str(tmp_path / "heads.parquet")]
    )
    assert done.exit_code == 0 and "random heads" in done.output
    assert hs.open(tmp_path / "heads.parquet").chosen
