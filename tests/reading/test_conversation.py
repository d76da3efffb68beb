"""Conversations keep their spans through template, tokens, words and files."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import headscope as hs
from headscope.errors import BadInput
from headscope.reading.by_span import tokens_in
from tests.text.test_chat import TEMPLATES
from tests.tiny import tiny_scope, tiny_tokenizer

MESSAGES = [
    {"role": "system", "content": "he said it was red ."},
    {"role": "user", "content": "the cat sat on the mat ?"},
]
DOCUMENTS = ["a cat sat . the dog ran .\n\none two three .", {"title": "red", "text": "a house"}]
ANSWER = "the cat ran . it sat on a tree ."


def scope_with(
    template: str | None, architecture: str = "LlamaForCausalLM", positions: int = 600
) -> hs.Scope:
    scope = tiny_scope(architecture, max_position_embeddings=positions)
    tokenizer = copy.copy(tiny_tokenizer())
    tokenizer.chat_template = template
    return hs.load(scope.model, tokenizer)


@pytest.mark.parametrize("template", ["chatml", "command-r", "llama3", None])
def test_tokens_of_a_span_spell_its_text(template):
    scope = scope_with(TEMPLATES.get(template))
    reading = scope.read(messages=MESSAGES, documents=DOCUMENTS, answer=ANSWER)
    text, tokens = reading.texts[0], reading.part().key
    assert {span.of for span in reading.spans} == {
        "message", "document", "paragraph", "sentence", "answer",
    }  # fmt: skip
    for span in reading.spans:
        inside = tokens_in(tokens, span)
        written = "".join(text[a:b] for a, b in tokens.spans[inside])
        assert written.replace(" ", "") == "".join(text[span.start : span.stop].split())
    assert any("no chat template" in one for one in reading.warnings) == (template is None)


def test_by_span_is_the_sum_of_attention_to_its_tokens():
    scope = scope_with(TEMPLATES["chatml"])
    reading = scope.read(messages=MESSAGES, documents=DOCUMENTS, answer=ANSWER)
    tokens = reading.part().key
    found = reading.by_span("document")
    answer = next(span for span in reading.spans if span.of == "answer")
    rows = np.flatnonzero(tokens_in(tokens, answer))
    whole = reading.attention.to_numpy()
    for name in ("document 1", "red"):
        span = next(one for one in reading.spans if one.name == name)
        keys = [
            at for at, (a, b) in enumerate(tokens.spans) if span.start <= a and 0 < b <= span.stop
        ]
        expected = whole[:, :, rows][..., keys].sum(-1)
        np.testing.assert_allclose(found.sel(span=name), expected, atol=1e-6)
    before = reading.by_span("document", predicting=True)
    first = reading.attention.to_numpy()[:, :, rows - 1]
    np.testing.assert_allclose(before.sum("span"), first[..., :][..., [
        at for at in range(len(tokens)) if any(
            tokens_in(tokens, one)[at] for one in reading.spans if one.of == "document")
    ]].sum(-1), atol=1e-6)  # fmt: skip
    sentences = reading.by_span("sentence", "sentence")
    assert sentences.sizes["query"] == 2
    np.testing.assert_allclose(
        reading.by_span(["red"], "sentence").isel(query=0)[..., 0],
        found.sel(span="red")[:, :, :4].mean("query"),
        atol=1e-6,
    )


def test_spans_are_saved_with_the_reading_and_hold_for_words_and_long_texts(tmp_path):
    scope = scope_with(TEMPLATES["chatml"])
    reading = scope.read(messages=MESSAGES, documents=DOCUMENTS, answer=ANSWER, keep=("q", "k"))
    assert not reading.part().layers[0].has_weights
    reading.save(tmp_path / "reading.safetensors")
    again = hs.open(tmp_path / "reading.safetensors")
    assert again.spans == reading.spans
    np.testing.assert_allclose(again.by_span(), reading.by_span(), atol=1e-6)
    words = reading.words().by_span("document", "sentence")
    np.testing.assert_allclose(words.sum("span") <= 1, True)


def test_a_generated_answer_is_a_span_of_its_own():
    scope = scope_with(TEMPLATES["chatml"])
    reading = scope.generate(messages=MESSAGES, documents=DOCUMENTS, max_new_tokens=6)
    answer = next(span for span in reading.spans if span.of == "answer")
    asked = reading.metadata["prompt_tokens"]
    prompt = scope.read(messages=MESSAGES, documents=DOCUMENTS)
    assert reading.tokens[:asked] == prompt.tokens
    inside = np.flatnonzero(tokens_in(reading.part().key, answer))
    assert inside.size and inside.min() >= asked
    assert reading.by_span().sizes["query"] == inside.size


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"text": "a cat", "messages": "who ?"}, "cannot be combined with text"),
        ({"text": "a cat", "documents": ["a dog"]}, "pass messages="),
        ({"messages": "who ?", "truncate": True}, "never truncated"),
        ({"messages": "who ?", "documents": ["a cat " * 400]}, "The conversation has"),
    ],
)
def test_what_cannot_be_read_is_refused(given, sentence):
    with pytest.raises(BadInput, match=sentence):
        scope_with(TEMPLATES["chatml"]).read(**given)


def test_encoders_hold_no_conversation(tiny_bert):
    with pytest.raises(BadInput, match="load a decoder"):
        tiny_bert.read(messages="who ?")


def test_documents_with_the_same_title_keep_names_of_their_own():
    scope = scope_with(TEMPLATES["chatml"])
    same = [{"title": "red", "text": "a cat"}, {"title": "red", "text": "a dog"}, "two"]
    reading = scope.read(messages="who ?", documents=same)
    names = [span.name for span in reading.spans if span.of == "document"]
    assert names == ["document 1 (red)", "document 2 (red)", "document 3"]
