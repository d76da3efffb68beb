"""The desk: where text is read, cut, tokenised and packed, with no model and without torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headscope.corpus.bad_data import Faults
from headscope.corpus.text.batches import batches
from headscope.corpus.text.shards import Shard
from headscope.errors import BadInput
from headscope.statistics.survey.cutting import Cutter, Portion, digest_of
from headscope.statistics.survey.feeding.packed import Packed
from headscope.text.tokenise import Batch, tokenised

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.statistics.survey.portion import Settings


@dataclass(frozen=True)
class Prepared:
    """A portion of a shard ready to be read by a model; none where the shard holds no text."""

    batches: list[Packed]
    segments: int
    digest: str
    documents: int  # read of the shard by then
    faults: Faults | None  # of the whole shard; they come with its last portion

    @property
    def portions(self) -> int:
        return int(self.segments > 0)

    @property
    def more(self) -> bool:
        return self.faults is None


@dataclass(frozen=True)
class Desk:
    """All that is needed to prepare text."""

    tokenizer: Any
    cutter: Cutter
    rows: int | None  # tokens the model embeds
    most_tokens: int
    longest: int | None
    token_types: str
    model: None = None
    encoder_decoder: bool = False
    device: Any = "cpu"

    @staticmethod
    def of(scope: Scope, settings: Settings, cutter: Cutter) -> Desk:
        from headscope.models.limits import embedded_tokens

        return Desk(
            scope.tokenizer, cutter, embedded_tokens(scope.model), settings.most_tokens,
            settings.longest, settings.token_types,
        )  # fmt: skip

    def encode(
        self,
        texts: Sequence[str],
        pairs: Sequence[str | None] | None = None,
        *,
        truncate: bool = False,
        max_tokens: int | None = None,
    ) -> Batch:
        inputs: Any
        inputs, tokens = tokenised(
            self.tokenizer, texts, pairs, truncate=truncate, max_tokens=max_tokens
        )
        largest = int(inputs["input_ids"].max())
        if self.rows is not None and largest >= self.rows:
            raise BadInput(
                f"The tokenizer gives token {largest} but the model embeds only {self.rows:,}; "
                "load the tokenizer that was saved with this model."
            )
        return Batch(inputs, tokens)  # of arrays: they are packed before they become tensors

    def prepared(self, shard: Shard, first: int) -> Iterator[Prepared]:
        """The portions of a shard from the `first` on."""
        read = self.cutter.of_shard(shard, self.tokenizer)
        portions = read.portions()
        for _ in range(first):
            next(portions, None)
        following = next(portions, None)
        if following is None:
            yield Prepared([], 0, "", read.documents, read.faults)
        while following is not None:
            portion, packed = following, self.packed(following)
            following = next(portions, None)
            yield Prepared(
                packed, len(portion), digest_of(portion), read.documents,
                read.faults if following is None else None,
            )  # fmt: skip

    def packed(self, portion: Portion) -> list[Packed]:
        made = batches(
            self, portion, most_tokens=self.most_tokens, longest=self.longest,
            token_types=self.token_types,
        )  # fmt: skip
        return [Packed.of(batch) for batch in made]


class Feeder:
    """Lives in a process of its own."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._open: tuple[Shard, int, Iterator[Prepared]] | None = None

    def prepare(self, shard: Shard, first: int) -> Prepared:
        """The next portion of a shard; one that was started anew skips those before it."""
        if self._open is not None and self._open[:2] == (shard, first):
            portions = self._open[2]
        else:
            portions = self._desk.prepared(shard, first)
        answer = next(portions)
        self._open = (shard, first + 1, portions) if answer.more else None
        return answer
