"""Read a text about pictures: its words, the pieces of pictures among them, and the tower."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor, nn

from headscope.capture.call import Call
from headscope.errors import BadInput
from headscope.media.picture import Picture
from headscope.media.picture_inputs import Laid
from headscope.media.places import PlaceKind, Places
from headscope.reading.collecting.collector import Collector
from headscope.reading.generating.generated import tokens_of_ids
from headscope.reading.media.collecting import (
    Asked,
    Whole,
    collected,
    moved,
    placed_tokens,
    rows_of,
    tensors_of,
)
from headscope.reading.media.image_tokens import places_in_text
from headscope.reading.media.processors import processor_of
from headscope.reading.media.tower import tower_places
from headscope.reading.reading import Reading
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading.scope import Scope

AMONG_QUERIES = "The attention of the model's learned queries among themselves is not in it."


def reading_with_text(
    scope: Scope, text: str, pictures: list[Picture], laid: list[Laid], asked: Asked
) -> Reading:
    if scope.encoder_decoder:
        raise BadInput(
            f"{scope.name} writes with an encoder and a decoder, whose tokens cannot be told from "
            "those of the picture; use scope.read_inputs with names of your own."
        )
    tensors = inputs_with_text(scope, text, pictures)
    tokens = tokens_of_ids(scope.tokenizer, tensors["input_ids"][0].tolist())
    places = places_in_text(scope.model.config, tokens, laid)
    tokens = named_by_place(dataclasses.replace(tokens, places=places))
    left_out: list[str] = []

    def read(whole: Whole) -> dict[str, Collector]:
        left_out.clear()
        seen = _Seen(scope.model, asked, whole, len(pictures), left_out)
        scope.forward(moved(scope, tensors), seen, lazy=True)
        return {"language": seen.language, "tower": seen.tower, "across": seen.across}

    found = collected(read)
    parts = dict(found["language"].readings([tokens], [tokens], scope.name)[0].parts)
    if "encoder" in found["tower"].sizes and not any("tower" in one for one in left_out):
        count = found["tower"].sizes["encoder"][1]
        seen = placed_tokens(tower_places(scope.model, laid[0], count))
        parts |= found["tower"].readings([seen], [seen], scope.name)[0].parts
        if "cross" in found["across"].sizes:
            queries = np.full(found["across"].sizes["cross"][0], PlaceKind.QUERY, np.int8)
            looking = placed_tokens(Places.nowhere(queries))
            parts |= found["across"].readings([looking], [seen], scope.name)[0].parts
    metadata: dict[str, Any] = {"left_out": left_out} if left_out else {}
    return Reading(parts, scope.name, metadata, pictures=tuple(pictures))


class _Seen:
    """A sink that tells the language model, the picture tower and learned queries apart."""

    def __init__(
        self, model: nn.Module, asked: Asked, whole: Whole, pictures: int, left_out: list[str]
    ) -> None:
        self.language, self.tower, self.across = (asked.collector(whole) for _ in range(3))
        self._pictures, self._left_out = pictures, left_out
        self._asking = {
            id(inner)
            for module in model.modules()
            if "qformer" in type(module).__name__.lower()
            for inner in module.modules()
        }

    def __call__(self, call: Call) -> None:
        if call.kind == "decoder":
            self.language(call)
        elif call.kind == "cross" and self._pictures == 1 and not self._without_tower():
            self.across(call)
        elif id(call.module) in self._asking:
            self._leave_out(AMONG_QUERIES)
        elif call.kind == "encoder" and not self._without_tower():
            self._see_tower(call)

    def _without_tower(self) -> bool:
        return any("tower" in one for one in self._left_out)

    def _leave_out(self, told: str) -> None:
        if told not in self._left_out:
            self._left_out.append(told)

    def _see_tower(self, call: Call) -> None:
        """Towers that read several pictures, tiles or windows apart are left out."""
        reason = "it looks through windows of different sizes"
        if self._pictures > 1:
            reason = f"it reads {self._pictures} pictures apart"
        elif rows_of(call) > 1:
            reason = f"it reads {rows_of(call)} tiles apart"
        else:
            try:
                self.tower(call)
                return
            except BadInput as error:
                if "positions" not in str(error):
                    raise
        self._leave_out(f"The picture tower's own attention is not in this reading: {reason}.")


def inputs_with_text(scope: Scope, text: str, pictures: list[Picture]) -> dict[str, Tensor]:
    processor = processor_of(scope, "pictures")
    told = _prompt(processor, text, len(pictures))
    images = [one.image() for one in pictures]
    try:
        return tensors_of(processor(text=told, images=images, return_tensors="pt"))
    except (ValueError, TypeError) as error:
        raise BadInput(
            f"The processor of {scope.name} refused this text with its pictures ({error})."
        ) from error


def _prompt(processor: Any, text: str, pictures: int) -> str:
    """The text with a place for each picture, as the processor's own template puts it."""
    if getattr(processor, "chat_template", None):
        content: list[dict[str, str]] = [{"type": "image"}] * pictures
        content.append({"type": "text", "text": text})
        turns = [{"role": "user", "content": content}]
        return str(processor.apply_chat_template(turns, add_generation_prompt=True))
    token = getattr(processor, "image_token", None) or ""
    return text if token and token in text else f"{token * pictures}{text}"


def named_by_place(tokens: Tokens) -> Tokens:
    """Tokens that stand for a piece of a picture are called by their row and column."""
    assert tokens.places is not None
    names = tokens.places.names()
    labels = tuple(
        name if name and not name.startswith("[") else label
        for name, label in zip(names, tokens.labels, strict=True)
    )
    return dataclasses.replace(tokens, labels=labels)
