"""Finished requests as serving engines log them: messages, documents and the answer, as JSON.

vLLM, TGI and llama.cpp return no attention. Prompt and answer are enough: the same weights read
them again in one pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headscope.errors import BadInput


@dataclass(frozen=True)
class Request:
    """A conversation with its documents and answer."""

    messages: tuple[dict[str, Any], ...]
    documents: tuple[Any, ...] = ()
    answer: str | None = None
    name: str = ""


def request_of(given: Any) -> Request:
    """A request from JSON: a list of messages, or an OpenAI-style object.

    Parameters
    ----------
    given
        A list of messages, `{"messages": …, "documents": …, "answer": …}`, or a log's entry
        `{"request": {"messages": …}, "response": {"choices": […]}}`. A last message by the
        assistant is the answer.

    Returns
    -------
    Request
        Its parts.
    """
    if isinstance(given, list):
        given = {"messages": given}
    if not isinstance(given, Mapping):
        raise BadInput("A request is an object with messages, or a list of messages.")
    asked: Any = given.get("request") or given.get("body") or given
    messages: Any = asked.get("messages") if isinstance(asked, Mapping) else None
    if not isinstance(messages, list) or not messages:
        raise BadInput("A request has no messages; it needs a list of them under 'messages'.")
    answer = _answer(given)
    last = messages[-1]
    if answer is None and isinstance(last, Mapping) and last.get("role") == "assistant":
        answer, messages = last.get("content"), messages[:-1]
    documents: Any = asked.get("documents") or given.get("documents") or ()
    if not isinstance(documents, list | tuple):
        raise BadInput("The documents of a request are a list of texts.")
    name = str(given.get("id") or asked.get("id") or "")
    return Request(tuple(map(_message, messages)), tuple(documents), answer, name)


def _message(one: Any) -> dict[str, Any]:
    """A message whose content may come in parts; those of text are joined."""
    if not isinstance(one, Mapping):
        raise BadInput(f"A message is an object with a role and a content, not {one!r:.60}.")
    content = one.get("content")
    if isinstance(content, list):
        parts = [part.get("text", "") for part in content if isinstance(part, Mapping)]
        content = "".join(parts)
    return {**one, "content": content}


def _answer(given: Mapping[str, Any]) -> str | None:
    if isinstance(given.get("answer"), str):
        return given["answer"]
    replied: Any = given.get("response") or given
    replied = replied.get("body", replied) if isinstance(replied, Mapping) else {}
    choices: Any = replied.get("choices") or ()
    if choices and isinstance(choices[0], Mapping):
        said = (choices[0].get("message") or {}).get("content") or choices[0].get("text")
        return said if isinstance(said, str) else None
    return None
