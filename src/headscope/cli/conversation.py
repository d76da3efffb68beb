"""Conversations on the command line: a question or messages, with documents from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.errors import BadInput

Documents = Annotated[
    list[Path] | None,
    typer.Option("--document", "-d", help="A text file to answer from; give several."),
]
Messages = Annotated[
    Path | None,
    typer.Option("--messages", help="A conversation as JSON: a list of messages, or a request."),
]


def conversation(
    question: str | None, documents: list[Path] | None, messages: Path | None
) -> tuple[Any, Any, str | None]:
    """Messages, documents, and the answer where a file has it."""
    if (question is None) == (messages is None):
        raise BadInput("Give a question with -q, or a conversation with --messages.")
    given: list[Any] = [
        {"title": path.name, "text": path.read_text("utf-8", errors="replace")}
        for path in documents or ()
    ]
    if messages is None:
        return question, given, None
    from headscope.grounding.requests import request_of

    try:
        found = request_of(json.loads(messages.read_text("utf-8")))
    except ValueError as error:
        raise BadInput(f"{messages} is no JSON ({error}); write a list of messages.") from None
    return found.messages, [*found.documents, *given], found.answer
