"""Conversations and documents as one text, with their positions in it.

A model's chat template turns messages into the text the model was trained on. It may trim them,
reorder them, and put documents anywhere. So the template runs twice: once on the messages, and once
on placeholders. The text around the placeholders is the template's own; the rest of the first text
is messages and documents, character by character.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headscope.arguments import need_list
from headscope.errors import BadInput, HeadscopeError

Of = Literal["message", "document", "paragraph", "sentence", "answer"]
Message = Mapping[str, Any]
Document = str | Mapping[str, Any]

OPEN, CLOSE = "\ue0f0", "\ue0f1"  # private characters that no text holds by chance
RESERVED = re.compile(r"answer|(document|system|user|assistant|tool|developer) \d+.*", re.DOTALL)
ROLES = ("system", "user", "assistant", "tool", "developer")
PARAGRAPH = re.compile(r"\S(?:.*?\S)??(?=\s*\n\s*\n|\s*\Z)", re.DOTALL)
SENTENCE = re.compile(r"\S.*?(?:[.!?…。！？]+[\"'”’)\]]*(?=\s|\Z)|(?<=[。！？])|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Span:
    """A named stretch of a text: a message, a document, a paragraph, a sentence, the answer."""

    name: str
    of: Of
    start: int  # characters, the end not included
    stop: int
    parent: str | None = None  # the span this one is part of


@dataclass(frozen=True)
class Rendered:
    """The model's input text, with its spans."""

    text: str
    spans: tuple[Span, ...]
    template: bool  # False: the model has no template, and a plain layout was used

    def of(self, kind: Of) -> tuple[Span, ...]:
        return tuple(span for span in self.spans if span.of == kind)

    def answered(self, answer: str) -> Rendered:
        """The text with the assistant's answer after it."""
        text, spans = self.text + answer, list(self.spans)
        _add(spans, text, Span("answer", "answer", len(self.text), len(text)))
        return Rendered(text, tuple(spans), self.template)


def render(
    tokenizer: Any,
    messages: Sequence[Message] | str,
    documents: Sequence[Document] | Mapping[str, str] = (),
    *,
    answer: str | None = None,
) -> Rendered:
    """Messages and documents as the model reads them, ready for its answer.

    Parameters
    ----------
    tokenizer
        The model's, with its chat template; without one, a plain layout is used.
    messages
        A list of `{"role": …, "content": …}`, or one question.
    documents
        Texts, or `{"title": …, "text": …}`, or titles with texts. They go where the template puts
        documents, or, numbered, before the user's last message.
    answer
        The assistant's answer. It follows the prompt unchanged.

    Returns
    -------
    Rendered
        The text and its spans: messages, documents, their paragraphs and sentences, the answer.
    """
    said = checked_messages(messages)
    given = titled(documents)
    template = _template(tokenizer, bool(given))
    takes = template is not None and bool(given) and _names_documents(template)
    units = _Units()
    shown = [{"title": units.add(title), "text": units.add(text)} for title, text in given]
    of_documents = [one["text"] for one in shown] if takes else []
    last = max((n for n, one in enumerate(said) if one["role"] == "user"), default=len(said) - 1)
    contents: list[_Content] = []
    for number, message in enumerate(said):
        before = given if given and not takes and number == last else []
        contents.append(_content(message["content"], before))
    marks = [units.add(content.text) for content in contents]
    marked = [{**one, "content": mark} for one, mark in zip(said, marks, strict=True)]
    plain = [{**one, "content": content.text} for one, content in zip(said, contents, strict=True)]
    true_documents = [{"title": title, "text": text} for title, text in given] if takes else None
    text = _applied(tokenizer, template, plain, true_documents)
    skeleton = _applied(tokenizer, template, marked, shown if takes else None)
    found = _aligned(text, skeleton, units)
    spans: list[Span] = []
    names = document_names(given)
    for number, (message, content, mark) in enumerate(zip(said, contents, marks, strict=True), 1):
        if mark not in found:
            continue
        start, stop, cut = found[mark]
        for name, (first, end) in zip(names, content.documents, strict=False):
            _add(spans, text, Span(name, "document", *_within(start, stop, cut, first, end)))
        own = _within(start, stop, cut, *content.own)
        _add(spans, text, Span(f"{message['role']} {number}", "message", *own))
    for name, mark in zip(names, of_documents, strict=False):
        if mark in found:
            start, stop, _ = found[mark]
            _add(spans, text, Span(name, "document", start, stop))
    rendered = Rendered(text, tuple(spans), template is not None)
    return rendered if answer is None else rendered.answered(answer)


def document_names(documents: Sequence[tuple[str, str]]) -> list[str]:
    """A name for each document (title, text): its title if no other span has it."""
    taken = Counter(title for title, _ in documents)
    return [
        title
        if title and taken[title] == 1 and not RESERVED.fullmatch(title)
        else f"document {number}{f' ({title})' if title else ''}"
        for number, (title, _) in enumerate(documents, 1)
    ]


def sentences(text: str, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, int]]:
    """The positions of the sentences in a text."""
    for match in SENTENCE.finditer(text, start, len(text) if stop is None else stop):
        if match.end() > match.start():
            yield match.start(), match.end()


def paragraphs(text: str, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, int]]:
    """The positions of the paragraphs in a text, separated by blank lines."""
    for match in PARAGRAPH.finditer(text[: len(text) if stop is None else stop], start):
        yield match.start(), match.end()


class _Units:
    """A template's texts, each with its own placeholder."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def add(self, text: str) -> str:
        mark = f"{OPEN}{len(self.texts)}{CLOSE}"
        self.texts[mark] = text
        return mark


@dataclass(frozen=True)
class _Content:
    """A message's text, with the documents that were numbered into it."""

    text: str
    own: tuple[int, int]
    documents: tuple[tuple[int, int], ...]


def _content(own: str, documents: Sequence[tuple[str, str]]) -> _Content:
    text, found = "", []
    for number, (title, document) in enumerate(documents, 1):
        text += f"Document {number}{f' ({title})' if title else ''}:\n"
        found.append((len(text), len(text) + len(document)))
        text += f"{document}\n\n"
    return _Content(text + own, (len(text), len(text) + len(own)), tuple(found))


def _within(start: int, stop: int, cut: int, first: int, end: int) -> tuple[int, int]:
    """A part of a unit at start … stop, which lost `cut` characters at its left."""
    low = min(max(start, start + first - cut), stop)
    return low, min(max(low, start + end - cut), stop)


def _add(spans: list[Span], text: str, span: Span) -> None:
    """A span with its paragraphs and sentences."""
    spans.append(span)
    for number, (start, stop) in enumerate(paragraphs(text, span.start, span.stop), 1):
        name = f"{span.name}, paragraph {number}"
        spans.append(Span(name, "paragraph", start, stop, span.name))
    for number, (start, stop) in enumerate(sentences(text, span.start, span.stop), 1):
        spans.append(Span(f"{span.name}, sentence {number}", "sentence", start, stop, span.name))


def checked_messages(messages: Sequence[Message] | str) -> list[dict[str, Any]]:
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not isinstance(messages, Sequence) or not messages:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput("messages= is a list such as [{'role': 'user', 'content': '…'}], not empty.")
    checked: list[dict[str, Any]] = []
    for number, one in enumerate(messages, 1):
        if not isinstance(one, Mapping) or not isinstance(one.get("content"), str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadInput(f"Message {number} needs a role and a text as its content.")
        if one.get("role") not in ROLES:
            raise BadInput(
                f"Message {number} has the role {one.get('role')!r}; roles are {', '.join(ROLES)}."
            )
        checked.append(dict(one))
    return checked


def titled(documents: Sequence[Document] | Mapping[str, str]) -> list[tuple[str, str]]:
    """Title (or nothing) and text of each."""
    if isinstance(documents, str):
        raise BadInput("documents= is a list of texts; put a single one into a list.")
    if isinstance(documents, Mapping):
        documents = [{"title": title, "text": text} for title, text in documents.items()]
    need_list(documents, "documents", '["a text"]')
    found: list[tuple[str, str]] = []
    for number, one in enumerate(documents, 1):
        title, text = "", one
        if isinstance(one, Mapping):
            text, title = one.get("text", one.get("content")), one.get("title", "")
        if not isinstance(text, str):
            raise BadInput(
                f"Document {number} is a text, or has one under 'text', not {one!r:.60}."
            )
        if not text.strip():
            named = f" ({title})" if title else ""
            raise BadInput(f"Document {number}{named} is empty; leave it out.")
        found.append((str(title or ""), text))
    return found


def _template(tokenizer: Any, documents: bool) -> str | None:
    template = getattr(tokenizer, "chat_template", None)
    if isinstance(template, Mapping):  # several by name
        template = (template.get("rag") if documents else None) or template.get("default")
    return template if isinstance(template, str) else None


def has_template(tokenizer: Any) -> bool:
    """Whether conversations follow a chat template."""
    return _template(tokenizer, documents=False) is not None


def _names_documents(template: str) -> bool:
    return re.search(r"{[{%][^}]*\bdocuments\b", template) is not None


def _applied(
    tokenizer: Any,
    template: str | None,
    messages: Sequence[Message],
    documents: Sequence[Mapping[str, str]] | None,
) -> str:
    if template is None:
        lines = [f"{one['role'].title()}: {one['content']}\n\n" for one in messages]
        return "".join(lines) + "Assistant:"
    try:
        return tokenizer.apply_chat_template(
            [dict(one) for one in messages],
            documents=None if documents is None else [dict(one) for one in documents],
            chat_template=template,
            tokenize=False,
            add_generation_prompt=True,
        )
    except Exception as error:  # a template is a program and may raise anything
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise BadInput(
            f"The model's chat template refuses these messages ({said[0][:160]}); change their "
            "order or roles, or pass the text itself."
        ) from None


Found = dict[str, tuple[int, int, int]]  # start, stop, characters lost at the left


def _aligned(text: str, skeleton: str, units: _Units) -> Found:
    """The position of each unit in the text: what fills the skeleton's placeholders."""
    pieces = re.split(f"({OPEN}[0-9]+{CLOSE})", skeleton)
    found = _matched(text, 0, pieces, 0, units)
    if found is None:
        raise HeadscopeError(
            "The model's chat template rewrites its messages, so their positions in the text "
            "are unknown; pass the text itself."
        )
    return found


def _matched(text: str, at: int, pieces: list[str], number: int, units: _Units) -> Found | None:
    """Try every way in which a template may trim a unit; the text after it decides."""
    while number < len(pieces) and pieces[number] not in units.texts:
        if not text.startswith(pieces[number], at):
            return None
        at += len(pieces[number])
        number += 1
    if number == len(pieces):
        return {} if at == len(text) else None
    mark = pieces[number]
    whole = units.texts[mark]
    for shown in dict.fromkeys((whole, whole.strip(), whole.lstrip(), whole.rstrip())):
        if text.startswith(shown, at):
            rest = _matched(text, at + len(shown), pieces, number + 1, units)
            if rest is not None:
                cut = len(whole) - len(whole.lstrip()) if shown[:1] != whole[:1] else 0
                return {mark: (at, at + len(shown), cut), **rest}
    return None
