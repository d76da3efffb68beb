"""Every character of every message and document lies in its span, through any chat template."""

from __future__ import annotations

import copy
import itertools
import random
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from headscope.errors import BadInput
from headscope.reading.by_span import tokens_in
from headscope.text.chat import Rendered, paragraphs, render, sentences
from headscope.text.tokenise import tokenise
from tests.text.family_templates import FAMILIES, TRIMMED
from tests.tiny import tiny_tokenizer

# short templates of our own, each with a habit; those of families are in family_templates.py
TURN = "{% for m in messages %}"
END = "{% endfor %}"
TEMPLATES = {
    "chatml": TURN + "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n" + END
    + "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    "llama3": "<|begin|>" + TURN + "<|header|>{{ m.role }}<|end|>\n\n{{ m.content | trim }}<|eot|>"
    + END + "<|header|>assistant<|end|>\n\n",
    # a system message joins the first turn of the user
    "gemma": "<bos>{% set own = messages[0].role == 'system' %}"
    + "{% for m in (messages[1:] if own else messages) %}"
    + "<start>{{ 'model' if m.role == 'assistant' else m.role }}\n"
    + "{{ messages[0].content + '\n\n' if own and loop.first else '' }}"
    + "{{ m.content.strip() }}<end>\n" + END + "<start>model\n",
    # a system message joins the last turn of the user
    "mistral": "{% set own = messages[0].role == 'system' %}"
    + "{% for m in (messages[1:] if own else messages) %}{% if m.role == 'user' %}[INST] "
    + "{{ messages[0].content + '\n\n' if own and loop.last else '' }}{{ m.content }} [/INST]"
    + "{% else %} {{ m.content.strip() }}</s>{% endif %}" + END,
    "phi": TURN + "<|{{ m.role }}|>\n{{ m.content.rstrip() }}<|end|>\n" + END + "<|assistant|>\n",
    "qwen": "{% if messages[0].role != 'system' %}<s>system\nYou are a helpful assistant.</s>\n"
    + "{% endif %}" + TURN + "<s>{{ m.role }}\n{{ m.content.lstrip() }}</s>\n" + END
    + "<s>assistant\n",
    "zephyr": TURN + "<|{{ m.role }}|>\n{{ m.content + '</s>' }}\n" + END + "<|assistant|>\n",
    "command-r": "{% for d in documents or [] %}<results>Document: {{ loop.index0 }}\n"
    + "{{ d.title }}\n{{ d.text | trim }}</results>\n{% endfor %}"
    + "{% for m in messages | reverse %}{% if m.role == 'system' %}<sys>{{ m.content }}{% endif %}"
    + END + TURN + "{% if m.role != 'system' %}<{{ m.role }}>{{ m.content | trim }}{% endif %}"
    + END + "<chatbot>",
}  # fmt: skip
WORDS = [
    "héllo",
    "naïve",
    "🙂",
    "שלום",
    "مرحبا",
    "世界",
    "x<y",
    "{{ m }}",
    "a.b",
    "\n",
    "\n\n",
    "  ",
    "\t",
    ".",
]


def text_of(chance: random.Random) -> str:
    made = " ".join(chance.choices(WORDS, k=chance.randint(1, 8)))
    return made if made.strip() else made + "word"


def tokenizer_with(template: str | dict[str, str] | None, tokenizer: Any = None) -> Any:
    found = copy.deepcopy(tiny_tokenizer()) if tokenizer is None else tokenizer
    found.bos_token, found.eos_token = "<s>", "</s>"
    found.chat_template = template
    return found


@pytest.mark.parametrize("name", [*FAMILIES, "none"])
def test_every_character_lies_in_its_span_and_no_other_does(name):
    """Blanks too: a template that trims takes them from the span, another keeps them in it."""
    tokenizer = tokenizer_with(FAMILIES.get(name))
    trimmed = TRIMMED.get(name, ())
    for seed in range(60):
        messages, documents, answer = conversation(random.Random(seed), seed % 3 == 0)
        found = render(tokenizer, messages, documents, answer=answer)
        assert found.template == (name != "none")
        numbered = bool(documents) and name != "command-r"
        for span, message in zip(sorted_by_number(found), messages, strict=True):
            expected = message["content"]
            if message["role"] in trimmed:  # a question behind numbered documents loses its end
                last = numbered and message is messages[-1]
                expected = expected.rstrip() if last else expected.strip()
            assert found.text[span.start : span.stop] == expected, seed
        spans = found.of("document")
        assert [span.name for span in spans] == [f"document {n + 1}" for n in range(len(documents))]
        assert [found.text[span.start : span.stop] for span in spans] == documents, seed
        (last,) = found.of("answer")
        assert found.text[last.start :] == answer
        check_layout(found)


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_that_trim_one_end_or_reorder_keep_their_spans(name):
    tokenizer = tokenizer_with(TEMPLATES[name])
    for seed in range(60):
        messages, documents, answer = conversation(random.Random(seed), seed % 3 == 0)
        found = render(tokenizer, messages, documents, answer=answer)
        for span, message in zip(sorted_by_number(found), messages, strict=True):
            assert found.text[span.start : span.stop].strip() == message["content"].strip(), seed
        for span, document in zip(found.of("document"), documents, strict=True):
            assert found.text[span.start : span.stop].strip() == document.strip(), seed
        check_layout(found)


def conversation(
    chance: random.Random, system: bool
) -> tuple[list[dict[str, str]], list[str], str]:
    """Messages, documents and an answer with blanks, emoji and right-to-left letters anywhere."""
    roles = ["system"] * system + ["user", "assistant"] * chance.randint(0, 2) + ["user"]
    messages = [{"role": role, "content": text_of(chance)} for role in roles]
    return messages, [text_of(chance) for _ in range(chance.randint(0, 3))], text_of(chance)


def check_layout(found: Rendered) -> None:
    """Messages, documents and the answer do not overlap; their parts lie inside them."""
    outer = sorted((s.start, s.stop) for s in found.spans if s.parent is None)
    assert all(stop <= start for (_, stop), (start, _) in itertools.pairwise(outer))
    by_name = {span.name: span for span in found.spans if span.parent is None}
    for span in found.spans:
        if span.parent is not None:
            whole = by_name[span.parent]
            assert whole.start <= span.start < span.stop <= whole.stop


@pytest.mark.parametrize("name", FAMILIES)
def test_tokens_of_a_span_hold_its_emoji_and_right_to_left_letters(name):
    """Bytes as GPT-2, Llama 3 and Qwen write them: an emoji is several tokens of one character."""
    tokenizer = tokenizer_with(FAMILIES[name], byte_level())
    for seed in range(20):
        messages, documents, answer = conversation(random.Random(seed), seed % 3 == 0)
        found = render(tokenizer, messages, documents, answer=answer)
        (tokens,) = tokenise(tokenizer, [found.text], add_special_tokens=False).tokens
        assert len(tokens) > len({(start, stop) for start, stop in tokens.spans.tolist()}) or (
            "🙂" not in found.text
        )
        outer = [span for span in found.spans if span.parent is None]
        for span in outer:
            inside = tokens_in(tokens, span)
            covered = {at for one in tokens.spans[inside].tolist() for at in range(*one)}
            assert covered == set(range(span.start, span.stop)), seed
        assert np.sum([tokens_in(tokens, span) for span in outer], 0).max() <= 1


def byte_level() -> PreTrainedTokenizerFast:
    """A token a byte, as byte-level tokenizers spell what no merge of theirs covers."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    own = Tokenizer(models.BPE({letter: at for at, letter in enumerate(alphabet)}, []))
    own.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    own.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=own)


def sorted_by_number(found):
    return sorted(found.of("message"), key=lambda span: int(span.name.split()[-1]))


def test_a_template_with_documents_gets_them_and_others_number_them():
    question = [{"role": "user", "content": "Who?"}]
    given = [{"title": "Births", "text": "Ana was born in Oslo."}]
    own = render(tokenizer_with(TEMPLATES["command-r"]), question, given)
    assert own.text.startswith("<results>Document: 0\nBirths\nAna was born in Oslo.</results>")
    numbered = render(tokenizer_with(TEMPLATES["chatml"]), question, given)
    assert "Document 1 (Births):\nAna was born in Oslo.\n\nWho?<|im_end|>" in numbered.text
    assert [span.name for span in numbered.of("document")] == ["Births"]


def test_a_template_for_documents_is_used_where_there_are_documents():
    both = {"default": TEMPLATES["phi"], "rag": TEMPLATES["command-r"]}
    assert render(tokenizer_with(both), "Who?").text.startswith("<|user|>")
    assert render(tokenizer_with(both), "Who?", ["Ana."]).text.startswith("<results>")


def test_paragraphs_and_sentences_are_found():
    text = "One. Two!\n\nThree? 四。五。\n \nSix"
    assert [text[a:b] for a, b in paragraphs(text)] == ["One. Two!", "Three? 四。五。", "Six"]
    assert [text[a:b] for a, b in sentences(text)] == [
        "One.",
        "Two!",
        "Three?",
        "四。",
        "五。",
        "Six",
    ]


@pytest.mark.parametrize(
    ("messages", "documents", "sentence"),
    [
        ([], [], "messages= is a list"),
        ([{"role": "user"}], [], "Message 1 needs a role and a text"),
        ([{"role": "king", "content": "x"}], [], "role 'king'"),
        ("Who?", ["a", "  "], "Document 2 is empty"),
        ("Who?", "one text", "put a single one into a list"),
    ],
)
def test_bad_messages_and_documents_are_named(messages, documents, sentence):
    with pytest.raises(BadInput, match=sentence):
        render(tokenizer_with(None), messages, documents)


def test_a_template_that_fails_is_quoted():
    template = "{{ raise_exception('Roles must alternate') }}"
    with pytest.raises(BadInput, match="Roles must alternate"):
        render(tokenizer_with(template), "Who?")
