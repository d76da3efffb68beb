"""Sources: the documents, paragraphs or sentences that an answer may have been taken from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from headscope.arguments import need_list
from headscope.errors import BadInput
from headscope.text.chat import document_names, paragraphs, sentences

Kind = Literal["document", "paragraph", "sentence"]
By = Kind | Sequence[str]
KINDS = ("document", "paragraph", "sentence")
Titled = tuple[str, str]  # title, or nothing, and text


@dataclass(frozen=True)
class Source:
    """A span of one document that can be removed."""

    name: str  # the name of the reading's span
    document: int  # from 0
    start: int  # characters of the document
    stop: int


def sources_of(documents: Sequence[Titled], by: By = "document") -> list[Source]:
    """Every source of a kind, or those with the names asked for, in the order of the text."""
    if isinstance(by, str) and by in KINDS:
        return [one for one, kind in _every(documents) if kind == by]
    if not isinstance(by, str):
        need_list(by, "by", "['document 1']")
    wanted = [by] if isinstance(by, str) else list(by)
    known = {one.name: one for one, _ in _every(documents)}
    wrong = [name for name in wanted if name not in known]
    if wrong or not wanted:
        shown = ", ".join(list(known)[:4])
        raise BadInput(
            f"There is no span {wrong[0] if wrong else ''!r} in the documents; by= is "
            f"{', '.join(KINDS)}, or names such as {shown}."
        )
    return sorted((known[name] for name in wanted), key=lambda one: (one.document, one.start))


def without(documents: Sequence[Titled], taken: Collection[Source]) -> list[Titled]:
    """The documents without these sources; a document that becomes empty is left out."""
    left: list[Titled] = []
    for number, (title, text) in enumerate(documents):
        own = [one for one in taken if one.document == number]
        kept = [at for at in range(len(text)) if not any(o.start <= at < o.stop for o in own)]
        rest = "".join(text[at] for at in kept) if own else text
        if rest.strip():
            left.append((title, rest))
    return left


def _every(documents: Sequence[Titled]) -> list[tuple[Source, Kind]]:
    found: list[tuple[Source, Kind]] = []
    for number, (name, (_, text)) in enumerate(
        zip(document_names(documents), documents, strict=True)
    ):
        found.append((Source(name, number, 0, len(text)), "document"))
        for at, (start, stop) in enumerate(paragraphs(text), 1):
            found.append((Source(f"{name}, paragraph {at}", number, start, stop), "paragraph"))
        for at, (start, stop) in enumerate(sentences(text), 1):
            found.append((Source(f"{name}, sentence {at}", number, start, stop), "sentence"))
    return found
