"""Documents in batches, encoded and mapped to tokens; unreadable ones are counted."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor

from headscope.capture import Kind
from headscope.corpus.bad_data import Faults
from headscope.corpus.links.linked import Linked
from headscope.errors import BadInput
from headscope.probes.passes import model_inputs
from headscope.reading.inputs.decoder_text import encode_both
from headscope.roles.fields import Field
from headscope.roles.plans import Plan, plan
from headscope.roles.spoken import encoded_sound
from headscope.text.batching import length_batches, text_lengths
from headscope.text.tokenise import Batch, tokenise
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading import Scope

WINDOW = 512  # documents sorted by length together
BATCH_CHARACTERS = 4096  # about 1,000 tokens

Numbered = tuple[int, Linked]


@dataclass(frozen=True)
class Encoded:
    """A batch: the model's inputs, and the positions of links."""

    inputs: dict[str, Tensor]
    plans: list[Plan]
    rows: list[int]  # of the batch, one per plan
    documents: int  # read so far, with those left out


def batches(
    scope: Scope,
    documents: Iterable[Linked],
    kind: Kind,
    field: Field,
    faults: Faults,
    longest: int | None,
) -> Iterator[Encoded]:
    """Every document once, in batches of similar length."""
    source = enumerate(documents)
    seen = 0
    while window := list(itertools.islice(source, WINDOW)):
        for _, one in window:
            if not isinstance(one, Linked):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise BadInput(
                    "Pairs are documents with links: a .jsonl file, or Linked of "
                    f"headscope.corpus.links; one of these is of type {type(one).__name__}."
                )
        for number, document in window:
            if document.sound is not None:
                seen += 1
                heard = encoded_sound(scope, number, document, faults)
                if heard is not None:
                    yield Encoded(heard[0], [heard[1]], [0], seen)
        read = [one for one in window if one[1].sound is None]
        lengths = text_lengths([one.text for _, one in read], [one.other for _, one in read])
        for rows in length_batches(lengths, BATCH_CHARACTERS):
            group = [read[row] for row in rows]
            seen += len(group)
            made = _encoded(scope, group, kind, field, faults, longest, seen)
            if made is not None:
                yield made


def _encoded(
    scope: Scope,
    group: Sequence[Numbered],
    kind: Kind,
    field: Field,
    faults: Faults,
    longest: int | None,
    seen: int,
) -> Encoded | None:
    group, batch, of_queries = _tokens(scope, group, kind, faults, longest)
    if not group:
        return None
    second = kind != "cross"
    plans: list[Plan] = []
    rows: list[int] = []
    for row, (number, document) in enumerate(group):
        segment = 1 if second and document.other is not None else 0
        found = plan(
            number, document, of_queries[row], batch.tokens[row], faults,
            query_segment=segment, same=second, shift=field.shift, apart=field.apart,
        )  # fmt: skip
        if found is not None:
            plans.append(found)
            rows.append(row)
    return Encoded(batch.inputs, plans, rows, seen) if plans else None


def _tokens(
    scope: Scope, group: Sequence[Numbered], kind: Kind, faults: Faults, longest: int | None
) -> tuple[list[Numbered], Batch, Sequence[Tokens]]:
    """The documents that fit into the model, its inputs, and the tokens that queries lie in."""
    kept = list(group)
    empty = Batch({}, [])
    while kept:
        texts = [document.text for _, document in kept]
        others: list[Any] = [document.other for _, document in kept]
        if kind == "cross":
            lengths = [
                max(len(a), len(b))
                for a, b in zip(
                    tokenise(scope.tokenizer, texts).tokens,
                    tokenise(scope.tokenizer, others).tokens,
                    strict=True,
                )
            ]
        else:
            batch = tokenise(scope.tokenizer, texts, others)
            lengths = [len(tokens) for tokens in batch.tokens]
        fits = [longest is None or length <= longest for length in lengths]
        if all(fits):
            if kind == "cross":
                batch, of_decoder = encode_both(scope, texts, others)
                return kept, batch, of_decoder
            batch = batch.to(scope.device)  # pyright: ignore[reportPossiblyUnboundVariable]
            return kept, Batch(model_inputs(scope, batch), batch.tokens), batch.tokens
        for (_, document), length, fit in zip(kept, lengths, fits, strict=True):
            if not fit:
                message = f"the text has {length} tokens and {longest} are read"
                faults.note("too long", document.where, message)
        kept = [one for one, fit in zip(kept, fits, strict=True) if fit]
    return [], empty, []
