"""Every character of every message and document lies in its span, through any chat template."""

from __future__ import annotations

import itertools
import random

import pytest

from headscope.errors import BadInput
from headscope.text.chat import paragraphs, render, sentences
from tests.tiny import tiny_tokenizer

# our own templates, each laid out as the family it is named for lays out its turns
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


def tokenizer_with(template: str | dict[str, str] | None):
    import copy

    tokenizer = copy.copy(tiny_tokenizer())
    tokenizer.chat_template = template
    return tokenizer


@pytest.mark.parametrize("name", [*TEMPLATES, "none"])
def test_every_character_lies_in_its_span_and_no_other_does(name):
    tokenizer = tokenizer_with(TEMPLATES.get(name))
    for seed in range(60):
        chance = random.Random(seed)
        messages = [{"role": "system", "content": text_of(chance)}] if seed % 3 == 0 else []
        for _ in range(chance.randint(0, 2)):
            messages.append({"role": "user", "content": text_of(chance)})
            messages.append({"role": "assistant", "content": text_of(chance)})
        messages.append({"role": "user", "content": text_of(chance)})
        documents = [text_of(chance) for _ in range(chance.randint(0, 3))]
        answer = text_of(chance)
        found = render(tokenizer, messages, documents, answer=answer)
        assert found.template == (name != "none")
        for span, message in zip(sorted_by_number(found), messages, strict=True):
            assert found.text[span.start : span.stop].strip() == message["content"].strip(), seed
        spans = found.of("document")
        assert len(spans) == len(documents)
        for number, (span, document) in enumerate(zip(spans, documents, strict=True), 1):
            assert span.name == f"document {number}"
            assert found.text[span.start : span.stop].strip() == document.strip(), seed
        (last,) = found.of("answer")
        assert found.text[last.start :] == answer
        outer = sorted((s.start, s.stop) for s in found.spans if s.parent is None)
        assert all(stop <= start for (_, stop), (start, _) in itertools.pairwise(outer))
        by_name = {span.name: span for span in found.spans if span.parent is None}
        for span in found.spans:
            if span.parent is not None:
                whole = by_name[span.parent]
                assert whole.start <= span.start < span.stop <= whole.stop


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
