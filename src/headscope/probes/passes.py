"""One pass of annotated words through the model, batch by batch, feeding a tally.

Memory does not grow with the data: sentences are read in windows, sorted by length within a window
to limit padding, and released when their batch has run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from headscope.arguments import need_scope
from headscope.capture import Call, Kind
from headscope.corpus.bad_data import Faults
from headscope.errors import BadInput, HeadscopeError
from headscope.probes.word_level import Mode, WordIndex, word_index
from headscope.reading.inputs.decoder_text import decoder_batch
from headscope.runs import Run, State
from headscope.text.batching import length_batches
from headscope.text.spelling import TokenClass
from headscope.text.tokenise import Batch, tokenise
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading import Scope

WINDOW = 1024  # items encoded and sorted by length together
BATCH_TOKENS = 1024  # padded tokens a batch: enough to keep matrix products busy, small in cache
PAPER_LENGTH = 128  # tokens, specials included; Clark et al. drop what is longer


class Worded(Protocol):
    """An item in words with its source line."""

    @property
    def words(self) -> tuple[str, ...]: ...
    @property
    def where(self) -> str: ...


T = TypeVar("T", bound=Worded)
T_contra = TypeVar("T_contra", bound=Worded, contravariant=True)


class PassTally(Protocol[T_contra]):
    """Adds up what a probe needs, layer by layer."""

    def begin(self, items: Sequence[T_contra], index: WordIndex) -> None: ...
    def layer(self, number: int, words: Tensor) -> None: ...
    def end(self, batch: int) -> None: ...
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...


@dataclass(frozen=True)
class WordBatch(Generic[T]):
    """Items encoded together, and how their words lie over the tokens."""

    number: int
    items: list[T]
    batch: Batch
    index: WordIndex


def self_attention(scope: Scope) -> Kind:
    """The kind of head that relates words within one text."""
    need_scope(scope)
    return "encoder" if "encoder" in scope.kinds else "decoder"


def length_limit(scope: Scope, max_tokens: int | None) -> int:
    """The most tokens of an input: the requested number, or the model's limit."""
    limits = [limit for limit in (max_tokens, scope.max_tokens) if limit is not None]
    return min(limits) if limits else PAPER_LENGTH


def model_inputs(scope: Scope, batch: Batch) -> dict[str, Tensor]:
    """The model's inputs; a decoder beside an encoder gets only its start token."""
    if not scope.encoder_decoder:
        return batch.inputs
    start = decoder_batch(scope.model, scope.tokenizer, [None] * len(batch.tokens))
    return {**batch.inputs, **start.to(scope.device).inputs}


def word_batches(
    scope: Scope,
    items: Iterable[T],
    faults: Faults,
    *,
    max_tokens: int | None = PAPER_LENGTH,
    mode: Mode = "mean",
    specials: bool = False,
    done: int = 0,
) -> Iterator[WordBatch[T]]:
    """Encode items in batches of similar length; `done` batches are passed over.

    With `specials` the opening and the closing token count as two more words.
    """
    limit = length_limit(scope, max_tokens)
    number = 0
    source = iter(items)
    while window := list(itertools.islice(source, WINDOW)):
        window, encoded = _sound(scope, window, faults, limit)
        for rows in length_batches([len(tokens) for tokens in encoded.tokens], BATCH_TOKENS):
            number += 1
            if number > done:
                batch = _rows(encoded, rows.tolist()).to(scope.device)
                group = [window[row] for row in rows]
                index = _index(batch, group, mode, specials)
                yield WordBatch(number - 1, group, batch, index)


def run_pass(
    scope: Scope,
    items: Iterable[T],
    tally: PassTally[T],
    faults: Faults,
    *,
    max_tokens: int | None = PAPER_LENGTH,
    mode: Mode = "mean",
    specials: bool = False,
    run: Run | None = None,
    name: str = "pass",
    total: int | None = None,
) -> None:
    """Run every item through the model; the tally sees the word-level attention of each layer.

    The pass is a part of `run`, under `name`, which saves the tally. A resumed pass reads the data
    again up to that point, so faults in it are found again.
    """
    run = run or Run(None, {})
    part = run.part(name)
    kind = self_attention(scope)
    done = seen = 0
    if (state := part.recall()) is not None:
        tally.restore(state.arrays)
        done, seen = int(state.position["batches"]), int(state.position["items"])

    def now() -> State:
        return State({"batches": done, "items": seen}, tally.state())

    options: dict[str, Any] = {"max_tokens": max_tokens, "mode": mode, "specials": specials}
    for batch in word_batches(scope, items, faults, done=done, **options):
        with part.step(now):
            _through(scope, batch, tally, kind)
            done, seen = batch.number + 1, seen + len(batch.items)
        run.tell(seen, total)
    part.keep()


def _through(scope: Scope, batch: WordBatch[T], tally: PassTally[T], kind: Kind) -> None:
    tally.begin(batch.items, batch.index)

    def sink(call: Call) -> None:
        if call.kind == kind:
            words = batch.index(call.weights.detach().float())
            check_finite(words, call.layer)
            tally.layer(call.layer, words)

    with torch.inference_mode():
        scope.forward(model_inputs(scope, batch.batch), sink)
    tally.end(batch.number)


def check_finite(weights: Tensor, layer: int) -> None:
    """Raise an error for attention that is NaN: a probe's result would mean nothing."""
    if not bool(weights.sum().isfinite()):
        raise HeadscopeError(
            f"The attention of layer {layer} is NaN: the model overflows or its weights are "
            f"damaged; load it with dtype='float32', or another checkpoint."
        )


def _sound(scope: Scope, window: list[T], faults: Faults, limit: int) -> tuple[list[T], Batch]:
    """Encode a window, leaving out items that the model cannot read as words."""
    for item in window:
        if not hasattr(item, "words"):
            raise BadInput(
                f"The data holds sentences or documents as headscope.corpus reads them; one of "
                f"these is of type {type(item).__name__}."
            )
    texts = [list(item.words) for item in window]
    # one token more than allowed is enough to know that a text is too long
    encoded = tokenise(scope.tokenizer, texts, truncate=True, max_tokens=limit + 1)
    sound: list[int] = []
    for row, (item, tokens) in enumerate(zip(window, encoded.tokens, strict=True)):
        if len(tokens) > limit:
            message = f"{len(item.words)} words make more than {limit} tokens"
            faults.note("too long", item.where, message)
        elif crossing := _crosses(tokens, item.words):
            message = f"a token runs over the end of the word {crossing!r}"
            faults.note("mismatched tokenisation", item.where, message)
        else:
            sound.append(row)
    return [window[row] for row in sound], _rows(encoded, sound)


def _rows(batch: Batch, rows: list[int]) -> Batch:
    """Some rows of a batch, without the padding that only others needed."""
    tokens = [batch.tokens[row] for row in rows]
    longest = max((len(of) for of in tokens), default=0)
    return Batch({name: whole[rows, :longest] for name, whole in batch.inputs.items()}, tokens)


def _index(batch: Batch, group: list[T], mode: Mode, specials: bool) -> WordIndex:
    return word_index(
        [tokens.word_ids for tokens in batch.tokens],
        tokens=batch.inputs["input_ids"].shape[1],
        words=max(len(item.words) for item in group),
        mode=mode,
        ends=[_ends(tokens) for tokens in batch.tokens] if specials else None,
        device=batch.inputs["input_ids"].device,
    )


def _crosses(tokens: Tokens, words: Sequence[str]) -> str | None:
    """The first word whose end a token runs over, if any."""
    inside = tokens.word_ids >= 0
    ends = np.cumsum([len(word) + 1 for word in words]) - 1  # words are joined by one blank
    over = tokens.spans[inside, 1] > ends[tokens.word_ids[inside]]
    return words[int(tokens.word_ids[inside][over.argmax()])] if over.any() else None


def _ends(tokens: Tokens) -> tuple[int, int]:
    """The token that opens the text (the first, special or not) and the special that closes it."""
    return 0, len(tokens) - 1 if tokens.classes[-1] <= TokenClass.SPECIAL else -1


def check_nonempty(count: int, what: str, faults: Faults) -> None:
    """Raise an error if there are no items."""
    if not count:
        raise BadInput(f"The data gave no {what} to probe; {faults.summary() or 'it is empty'}.")
