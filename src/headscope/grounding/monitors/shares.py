"""A monitor's inputs: each head's shares of attention between parts of a prompt."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.grounding.mass import HeadMass
from headscope.grounding.prompts import prompt_of
from headscope.reading.by_span import tokens_in
from headscope.reading.inputs.conversation import Documents, Messages, encoded, rendered_for
from headscope.text.chat import Span, checked_messages, titled

if TYPE_CHECKING:
    from headscope.reading import Scope

Share = Literal["context", "instruction"]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Looks:
    """The shares that a set of prompts has: `context` needs an answer, `instruction` documents."""

    answered: bool
    documents: bool

    @property
    def shares(self) -> tuple[Share, ...]:
        """ "context": attention to the prompt, as a share of that to the prompt and the answer.

        "instruction": attention to messages, as a share of that to messages and documents.
        """
        found: list[Share] = ["context"] if self.answered else []
        return (*found, "instruction") if self.documents else tuple(found)


def looks_of(messages: Any, documents: Any, answer: str | None) -> Looks:
    tools = any(one.get("role") == "tool" for one in checked_messages(messages))
    return Looks(answer is not None, tools or bool(titled(documents)))


def shares_of(
    scope: Scope,
    looks: Looks,
    messages: Messages,
    documents: Documents,
    answer: str | None,
    layers: Collection[int] | None = None,
) -> tuple[list[int], Floats]:
    """The measured layers, and share × layer × head, the mean over the answer's tokens.

    Without an answer, the prompt's last token is the query. Documents and tool messages are data.
    """
    if looks_of(messages, documents, answer) != looks:
        needs = "an answer" if looks.answered else "no answer"
        also = "documents" if looks.documents else "no documents"
        raise BadInput(f"The monitor was fitted on conversations with {needs} and {also}.")
    given = [{"title": title, "text": text} for title, text in titled(documents)]
    if answer is None:
        rendered = rendered_for(scope, messages, given)
        batch = encoded(scope, rendered)
        ids, tokens, spans = batch.inputs["input_ids"], batch.tokens[0], rendered.spans
        rows: Sequence[int] = [ids.shape[1] - 1]
    else:
        prompt = prompt_of(scope, messages, titled(documents), answer)
        ids, tokens, spans = prompt.ids[None, :-1], prompt.tokens, prompt.spans
        # the first answer token has no words of its own before it
        rows = prompt.predicting[1:] or prompt.predicting
    groups = (_data(spans), _messages(spans), [one for one in spans if one.of == "answer"])
    members = np.stack(
        [
            np.any([tokens_in(tokens, one) for one in some] or [np.zeros(len(tokens), bool)], 0)
            for some in groups
        ]
    )[:, : ids.shape[1]]
    mass = HeadMass(scope, rows, members, norms=False, layers=layers)
    mass.read(ids)
    data, said, own = np.moveaxis(mass.attention.astype(float), 3, 0)  # l h r each
    made = {"context": _of(data + said, own), "instruction": _of(said, data)}
    return mass.layers, np.stack([made[name].mean(2) for name in looks.shares])


def _of(one: Floats, other: Floats) -> Floats:
    return one / np.maximum(one + other, 1e-9)


def _data(spans: Sequence[Span]) -> list[Span]:
    return [
        one
        for one in spans
        if one.of == "document" or (one.of == "message" and one.name.startswith("tool "))
    ]


def _messages(spans: Sequence[Span]) -> list[Span]:
    return [one for one in spans if one.of == "message" and not one.name.startswith("tool ")]
