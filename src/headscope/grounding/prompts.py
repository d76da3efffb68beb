"""A prompt with its answer, as tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import BadInput
from headscope.grounding.sources import Titled
from headscope.reading.by_span import tokens_in
from headscope.reading.inputs.conversation import Messages, encoded, rendered_for
from headscope.text.chat import Span
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading import Scope


@dataclass(frozen=True, eq=False)
class Prompt:
    """The conversation up to the last token of the answer."""

    ids: Tensor  # n
    tokens: Tokens
    spans: tuple[Span, ...]
    answer: int  # the position of its first token

    @property
    def said(self) -> int:
        """The number of tokens in the answer."""
        return len(self.ids) - self.answer

    @property
    def predicting(self) -> range:
        """The positions whose next token is the answer's."""
        return range(self.answer - 1, len(self.ids) - 1)

    def members(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """names × tokens read: which tokens lie in the spans of these names."""
        known = {span.name: span for span in self.spans}
        rows = [tokens_in(self.tokens, known[name]) for name in names]
        return np.stack(rows)[:, : len(self.ids) - 1]

    def sentences(self) -> list[NDArray[np.intp]]:
        """For each sentence of the answer its tokens, counted from the answer's first."""
        own = [one for one in self.spans if one.parent == "answer" and one.of == "sentence"]
        found = [np.flatnonzero(tokens_in(self.tokens, one)) - self.answer for one in own]
        return [at[at < self.said] for at in found]


def prompt_of(scope: Scope, messages: Messages, documents: Sequence[Titled], answer: str) -> Prompt:
    """An answered conversation as the model reads it."""
    given = [{"title": title, "text": text} for title, text in documents]
    rendered = rendered_for(scope, messages, given, answer)
    batch = encoded(scope, rendered)
    tokens = batch.tokens[0]
    (whole,) = rendered.of("answer")
    at = np.flatnonzero(tokens_in(tokens, whole))
    if not answer.strip() or not at.size or at[0] < 1:
        raise BadInput("The answer is empty; give at least one word, or leave it out.")
    # a tokenizer may add an end token, which is not part of the answer
    return Prompt(batch.inputs["input_ids"][0, : at[-1] + 1], tokens, rendered.spans, int(at[0]))


def common_prefix(one: Tensor, two: Tensor) -> int:
    """How many tokens two prompts begin with in common."""
    length = min(len(one), len(two))
    differ = (one[:length] != two[:length]).nonzero()
    return int(differ[0]) if len(differ) else length
