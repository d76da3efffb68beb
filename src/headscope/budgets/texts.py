"""The user's own text, as long texts to read and as needles to find in them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from headscope.corpus.bad_data import Faults
from headscope.corpus.text.documents import Reader
from headscope.errors import BadInput
from headscope.reading.predict import logits_in
from headscope.tasks.metrics import METRICS
from headscope.tasks.questions import Questions, token_answers, token_losses

if TYPE_CHECKING:
    from headscope.reading import Scope

CUE, ANSWER = 8, 4  # tokens of a needle: those repeated at the end, and those the model must give
Ids = list[int]


@dataclass(frozen=True)
class Needle:
    """A text that holds a stretch of another text, far from the end that repeats its start."""

    ids: tuple[int, ...]
    without: tuple[int, ...]  # the same text without the needle
    at: int  # where the expected tokens are

    @property
    def asks(self) -> tuple[int, ...]:
        """The positions at which the model must give the next token."""
        return tuple(range(len(self.ids) - ANSWER, len(self.ids)))


@dataclass(frozen=True)
class Texts:
    """Texts of one length with their needles; `first` are the tokens that begin every text."""

    texts: tuple[tuple[int, ...], ...]
    needles: tuple[Needle, ...]
    answers: tuple[tuple[int, ...], ...]  # of each needle


def cut_texts(scope: Scope, corpus: Any, tokens: int, limit: int | None) -> list[Ids]:
    """The corpus's tokens as texts of that length, documents one after another."""
    documents = Reader().documents(corpus, Faults())
    first = _first(scope)
    room, found, rest = tokens - len(first), list[Ids](), Ids()
    for document in documents:
        rest += scope.tokenizer("\n\n" + document.text, add_special_tokens=False)["input_ids"]
        while len(rest) >= room and (limit is None or len(found) < limit):
            found.append([*first, *rest[:room]])
            rest = rest[room:]
        if limit is not None and len(found) >= limit:
            break
    if len(found) < 4:
        raise BadInput(
            f"The corpus makes {len(found)} texts of {tokens:,} tokens, and a budget needs 4 or "
            "more; give more text, or a smaller max_tokens with a smaller window."
        )
    return found


def halves(
    scope: Scope, texts: Sequence[Ids], needles: int, sink: int, window: int, seed: int
) -> tuple[Texts, Texts]:
    """Texts and needles to choose heads on, and others to report on."""
    first = len(_first(scope))
    parts = (list(texts[::2]), list(texts[1::2]))
    counts = (-(-needles // 2), max(1, needles // 2))
    return (
        _with_needles(parts[0], counts[0], first, sink, window, random.Random(seed)),
        _with_needles(parts[1], counts[1], first, sink, window, random.Random(seed + 1)),
    )


def _with_needles(
    texts: list[Ids], count: int, first: int, sink: int, window: int, luck: random.Random
) -> Texts:
    size = CUE + ANSWER
    made: list[Needle] = []
    answers: list[tuple[int, ...]] = []
    for number in range(count):
        hay = texts[number % len(texts)]
        other = texts[luck.choice([n for n in range(len(texts)) if n != number % len(texts)])]
        start = luck.randrange(first, len(other) - size)
        needle = other[start : start + size]
        room = len(hay) - 2 * size + 1
        low, high = max(first, sink), room - window - size
        at = luck.randrange(low, max(low + 1, high))
        asked, answer = needle[:CUE], needle[CUE:]
        # the answer's last token is predicted, never read
        end = [*asked, *answer[:-1]]
        made.append(
            Needle(
                (*hay[:at], *needle, *hay[at:room], *end),
                (*hay[: room + size], *end),
                at + CUE,
            )
        )
        answers.append(tuple(answer))
    return Texts(tuple(map(tuple, texts)), tuple(made), tuple(answers))


def text_questions(scope: Scope, texts: Texts, kept: int) -> Questions:
    """The loss of every token for which a restricted head could see less."""
    batches: list[tuple[dict[str, Tensor], Tensor]] = []
    for ids in texts.texts:
        given = _inputs(scope, ids)
        targets = torch.full_like(given["input_ids"], -100)
        targets[:, kept:-1] = given["input_ids"][:, kept + 1 :]
        batches.append((given, targets))
    none = np.zeros(len(batches))
    return Questions("texts", tuple(batches), token_answers, token_losses, none, METRICS["loss"])


def needle_questions(scope: Scope, texts: Texts, *, without: bool = False) -> Questions:
    """The loss of each needle's answer, and whether all its tokens came first."""
    batches: list[tuple[dict[str, Tensor], Tensor]] = []
    for needle, answer in zip(texts.needles, texts.answers, strict=True):
        given = _inputs(scope, needle.without if without else needle.ids)
        targets = torch.full_like(given["input_ids"], -100)
        targets[0, -ANSWER:] = torch.tensor(answer, device=targets.device)
        batches.append((given, targets))
    none = np.zeros(len(batches))
    return Questions("needles", tuple(batches), _found, token_losses, none, METRICS["loss"])


def _found(output: Any, targets: Tensor) -> Tensor:
    """b 3: the summed loss, the number of tokens, and whether each was the likeliest."""
    logits = logits_in(output)
    assert logits is not None
    right = (logits.argmax(-1) == targets.to(logits.device)) | (targets.to(logits.device) == -100)
    found = right.all(1).to(logits.dtype)
    return torch.cat([token_answers(output, targets), found[:, None].float()], dim=1)


def _inputs(scope: Scope, ids: Sequence[int]) -> dict[str, Tensor]:
    given = torch.tensor([list(ids)], device=scope.device)
    return {"input_ids": given, "attention_mask": torch.ones_like(given)}


def _first(scope: Scope) -> Ids:
    """What the tokenizer puts before every text, such as a begin token."""
    if scope.tokenizer is None:
        raise BadInput(f"{scope.name} has no tokenizer; load the model with one.")
    alone = scope.tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = scope.tokenizer("a")["input_ids"]
    return list(itertools.takewhile(lambda token: token != alone[0], whole))
