"""What an atlas may keep of the texts of a batch, made of those alone that it does keep."""

from __future__ import annotations

from collections.abc import Sequence

from headscope.capture import Kind
from headscope.corpus.text.batches import TextBatch
from headscope.statistics.places.gather import TextOf
from headscope.statistics.places.texts import KeptText
from headscope.statistics.survey.feeding.packed import Packed
from headscope.text.tokens import Tokens, continued


def texts_of(batch: TextBatch | Packed, kind: Kind) -> tuple[TextOf, TextOf | None]:
    """Of the queries of one kind of attention; of the keys where they stand in other texts."""
    if isinstance(batch, Packed):
        return _packed(batch), None
    queries = batch.tokens
    if kind != "encoder" and batch.decoder_tokens is not None:
        queries = batch.decoder_tokens
    return _plain(queries), _plain(batch.tokens) if kind == "cross" else None


def _plain(tokens: Sequence[Tokens]) -> TextOf:
    return lambda row: KeptText.of(tokens[row])


def _packed(batch: Packed) -> TextOf:
    """A batch has it all already, as the model and the statistics need it."""
    names = ("lengths", "input_ids", "segments", "classes", "words")
    lengths, ids, segments, classes, words = map(batch.here, names)
    continues = continued(words)

    def text(row: int) -> KeptText:
        to = int(lengths[row])
        # copies, or the whole batch is kept
        return KeptText(
            ids[row, :to].copy(),
            segments[row, :to].copy(),
            classes[row, :to].copy(),
            continues[row, :to].copy(),
        )

    return text
