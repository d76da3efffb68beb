"""A reading: what a model attended to while reading one input."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from headscope.arguments import need_path
from headscope.checked import checked_methods
from headscope.errors import BadInput
from headscope.reading.part import Part
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    import xarray as xr

    from headscope.capture.call import Kind
    from headscope.media.picture import Picture
    from headscope.media.sound import Sound
    from headscope.reading.by_span import By
    from headscope.text.chat import Span


@checked_methods
@dataclass(frozen=True, eq=False)
class Reading:
    """Tokens and attention of one input; encoder–decoder models have three parts."""

    parts: dict[Kind, Part]
    model: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    pictures: tuple[Picture, ...] = ()
    sound: Sound | None = None
    spans: tuple[Span, ...] = ()  # of a conversation: its messages, documents, sentences, answer

    def __repr__(self) -> str:
        shapes = ", ".join(
            f"{kind}: {len(part.layers)} layers × {part.heads} heads, "
            f"{len(part.query)} × {len(part.key)} tokens"
            for kind, part in self.parts.items()
        )
        told = "".join(f"\n  warning: {warning}" for warning in self.warnings)
        return f"<Reading of {self.model or 'given attention'}: {shapes}>{told}"

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about this reading, one sentence each; most readings have none."""
        from headscope.reading.checks import NOTED, number_warnings

        return (*self.metadata.get(NOTED, ()), *number_warnings(self))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(self.parts)

    def part(self, kind: Kind | None = None) -> Part:
        """The part of that kind; by default the only one, or the encoder's."""
        if kind is None:
            return self.parts[self.kinds[0]]
        if kind not in self.parts:
            raise BadInput(
                f"This reading has no {kind} attention; it has {' and '.join(self.kinds)}."
            )
        return self.parts[kind]

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.part().query.spellings

    @property
    def texts(self) -> tuple[str, ...]:
        return self.part().query.texts

    @property
    def attention(self) -> xr.DataArray:
        """(layer, head, query, key) of the only part, or the encoder's."""
        return self.part().attention

    @property
    def encoder(self) -> xr.DataArray:
        return self.part("encoder").attention

    @property
    def decoder(self) -> xr.DataArray:
        return self.part("decoder").attention

    @property
    def cross(self) -> xr.DataArray:
        return self.part("cross").attention

    def by_span(
        self,
        of: By = "document",
        unit: Literal["token", "sentence"] = "token",
        *,
        kind: Kind | None = None,
        predicting: bool = False,
    ) -> xr.DataArray:
        """How much of the answer's attention goes to each span of a conversation.

        Parameters
        ----------
        of
            "document", "message", "paragraph", "sentence", or names of `spans`.
        unit
            A query for each "token" of the answer, or for each "sentence", the mean of its tokens.
        kind
            The kind of attention, if there are several.
        predicting
            Whether a token's row is that of the position before it, which predicted it.

        Returns
        -------
        xarray.DataArray
            Shares of attention with axes `layer`, `head`, `query` and `span`.

        Examples
        --------
        >>> reading = scope.read(messages="Where?", documents=["In Oslo."], answer="Oslo.")
        >>> reading.by_span("document", "sentence").sel(layer=8, head=0)  # doctest: +SKIP
        """
        from headscope.reading.by_span import by_span

        return by_span(self, of, unit, kind, predicting)

    def chose(self, token: int) -> int:
        """The query that chose a generated token: the row before the token's own.

        Parameters
        ----------
        token
            The number of a token that the model wrote.

        Returns
        -------
        int
            The number of the query at which the model chose it.

        Examples
        --------
        >>> reading = scope.generate("The cat sat on", 3)
        >>> first = reading.metadata["prompt_tokens"]
        >>> reading.attention.sel(query=reading.chose(first))  # doctest: +SKIP
        """
        kind: Kind | None = "decoder" if "decoder" in self.parts else None
        count, prompt = len(self.part(kind).query), self.metadata.get("prompt_tokens")
        if prompt is None:
            raise BadInput("This reading has no generated tokens; use scope.generate(prompt).")
        at = token + count if token < 0 else token
        if not prompt <= at < count:
            raise BadInput(
                f"Token {token} was not generated; the model wrote tokens {prompt} to {count - 1}."
            )
        return at - 1

    def words(self, mode: Literal["mean", "first"] = "mean") -> Reading:
        """The reading with whole words instead of tokens."""
        from headscope.reading.word_level import word_level

        return word_level(self, mode)

    def narrowed(
        self, layers: Collection[int] | None = None, queries: tuple[int, int] | None = None
    ) -> Reading:
        """Less of it: some layers, or the queries from the first number up to the second."""
        from headscope.reading.narrow import narrowed

        return narrowed(self, layers, queries)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file that opens with the plain safetensors library too."""
        from headscope.reading.storage import save

        save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Reading:
        from headscope.reading.storage import load

        return Reading(**load(need_path(path)))

    @staticmethod
    def from_attention(
        attention: Any = None,
        tokens: Sequence[str] | Tokens | None = None,
        *,
        sentence_b_start: int | None = None,
        encoder_attention: Any = None,
        decoder_attention: Any = None,
        cross_attention: Any = None,
        encoder_tokens: Sequence[str] | Tokens | None = None,
        decoder_tokens: Sequence[str] | Tokens | None = None,
        layers: Sequence[int] | None = None,
        model: str = "",
        q: Any = None,
        k: Any = None,
        v: Any = None,
        causal: bool = False,
    ) -> Reading:
        """A reading of tensors you already have: arrays, tuples of them, or a model's output.

        A path opens a .npz or .safetensors file that holds attention and its tokens. With q and k
        (token × size, or head × token × size) instead of attention, the weights are
        softmax(q·kᵀ/√size), over earlier tokens alone if causal.
        """
        from headscope.reading.from_attention import part_from_qkv, parts_from_attention

        if any(one is not None for one in (q, k, v)):
            if attention is not None:
                raise BadInput("Give attention, or the q and k that it is made of, not both.")
            return Reading(part_from_qkv(q, k, v, tokens, causal=causal), model)

        if isinstance(attention, str | os.PathLike):
            from headscope.reading.dumped import dumped

            attention, numbers, listed = dumped(need_path(attention))
            layers = numbers if layers is None else layers
            tokens = listed if tokens is None else tokens
        parts = parts_from_attention(
            attention,
            tokens,
            sentence_b_start=sentence_b_start,
            encoder_attention=encoder_attention,
            decoder_attention=decoder_attention,
            cross_attention=cross_attention,
            encoder_tokens=encoder_tokens,
            decoder_tokens=decoder_tokens,
            layers=layers,
        )
        return Reading(parts, model)
