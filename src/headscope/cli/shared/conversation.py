"""Conversations on the command line: a question or messages from a file, documents, an answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.cli.shared.checks import check_data
from headscope.errors import BadInput
from headscope.json_text import parse_json

MessagesFile = Annotated[
    Path | None,
    typer.Option("--messages", help="A conversation as JSON: a list of messages, or a request."),
]


def conversation(
    question: str | None, documents: Sequence[Path], messages: Path | None
) -> tuple[Any, list[Any], str | None]:
    """Messages, documents, and the answer if the file of messages has it."""
    given = [{"title": path.name, "text": _read(path)} for path in documents]
    if messages is None:
        return question, given, None
    from headscope.grounding.requests import request_of

    try:
        found = request_of(parse_json(_read(messages)))
    except ValueError as error:
        raise BadInput(f"{messages} is not JSON ({error}); write a list of messages.") from None
    return list(found.messages), [*found.documents, *given], found.answer


def check_texts(*paths: Path | None) -> None:
    """Check that the text files exist and are not folders."""
    check_data(*paths)
    for path in paths:
        if path is not None and path.is_dir():
            raise BadInput(f"{path} is a folder; name the files in it, such as {path}/*.md.")


def _read(path: Path) -> str:
    return path.read_text("utf-8-sig", errors="replace")
