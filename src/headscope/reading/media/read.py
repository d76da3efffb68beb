"""Read a picture, a text about pictures, or a sound, with every position knowing its place."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from headscope.capture import Sink
from headscope.capture.call import Call
from headscope.errors import BadInput
from headscope.media.picture import Picture, open_picture
from headscope.media.picture_inputs import Laid, image_processor_of, lay
from headscope.media.places import Places
from headscope.media.sound import open_sound
from headscope.reading.arguments import check_layers
from headscope.reading.collecting.collector import Collector
from headscope.reading.collecting.keeping import Keeping
from headscope.reading.generating.generated import tokens_of_ids
from headscope.reading.media.image_tokens import image_token, places_in_text
from headscope.reading.media.processors import feature_extractor_of, processor_of
from headscope.reading.media.sound_places import sound_places
from headscope.reading.media.tower import tower_places
from headscope.reading.media.transcript import transcript
from headscope.reading.media.word_times import ALIGNMENT
from headscope.reading.reading import Reading
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading.scope import Scope

Collect = Callable[[], Collector]


@dataclasses.dataclass(frozen=True)
class Heard:
    """What is read beside, or instead of, a text."""

    text: str | None
    image: Any
    audio: Any
    sampling_rate: int | None


def media_reading(
    scope: Scope, given: Heard, layers: Collection[int] | None, keeping: Keeping
) -> Reading:
    check_layers(scope, layers)
    if given.image is not None and given.audio is not None:
        raise BadInput("Give a picture or a sound, not both: no model here reads them together.")

    def collect() -> Collector:
        return Collector(None, None, keeping, layers, {})

    if given.audio is not None:
        return _sound(scope, given, collect)
    pictures = [open_picture(one) for one in _listed(given.image)]
    processor = image_processor_of(processor_of(scope, "pictures"))
    if processor is None:
        raise BadInput(f"The processor of {scope.name} takes no pictures.")
    laid = [lay(processor, picture) for picture in pictures]
    if image_token(scope.model.config) is not None:
        return _with_text(scope, given.text or "", pictures, laid, collect)
    if given.text is not None:
        raise BadInput(
            f"{scope.name} does not read text and pictures as one; read them apart: "
            "scope.read(text) and scope.read(image=picture)."
        )
    return _picture_alone(scope, processor, pictures, laid, collect)


def _listed(image: Any) -> Sequence[Any]:
    return image if isinstance(image, (list, tuple)) else [image]


def _picture_alone(
    scope: Scope, processor: Any, pictures: list[Picture], laid: list[Laid], collect: Collect
) -> Reading:
    if len(pictures) > 1:
        raise BadInput("This model reads one picture at a time; call scope.read for each.")
    inputs = processor(images=pictures[0].image(), return_tensors="pt")
    collector = collect()

    def sink(call: Call) -> None:
        if _rows(call) != 1:
            raise BadInput(
                f"{scope.name} looks through {_rows(call)} windows apart, so that no map covers "
                "the picture; use scope.capture to see its calls."
            )
        collector(call)

    _run_tower(scope, _tensors(inputs), sink)
    keys = collector.sizes["encoder"][1]
    of_keys = placed_tokens(tower_places(scope.model.config, laid[0], keys))
    of_queries = of_keys
    if "decoder" in collector.sizes:  # a detector's queries: learned, lying nowhere
        count = collector.sizes["decoder"][0]
        of_queries = Tokens.plain([f"object {number}" for number in range(count)])
    (reading,) = collector.readings([of_queries], [of_keys], scope.name)
    return dataclasses.replace(reading, pictures=tuple(pictures))


def _run_tower(scope: Scope, inputs: Mapping[str, Tensor], sink: Sink) -> None:
    """The whole model where it reads pictures; the tower alone where it reads text as well."""
    tower = getattr(scope.model, "vision_model", None)
    if getattr(scope.model, "main_input_name", "") == "pixel_values" or tower is None:
        scope.forward(_moved(scope, inputs), sink, lazy=True)
        return
    with torch.no_grad(), scope.capture(sink, lazy=True):
        tower(pixel_values=_moved(scope, inputs)["pixel_values"])


def _with_text(
    scope: Scope, text: str, pictures: list[Picture], laid: list[Laid], collect: Collect
) -> Reading:
    tensors = _inputs_with_text(scope, text, pictures)
    language, tower = collect(), collect()
    left_out: list[str] = []

    def sink(call: Call) -> None:
        if call.kind == "decoder":
            language(call)
        elif call.kind == "encoder" and not left_out:
            _see_tower(call, tower, left_out)

    scope.forward(_moved(scope, tensors), sink, lazy=True)
    tokens = tokens_of_ids(scope.tokenizer, tensors["input_ids"][0].tolist())
    places = places_in_text(scope.model.config, tokens, laid)
    tokens = named_by_place(dataclasses.replace(tokens, places=places))
    parts = dict(language.readings([tokens], [tokens], scope.name)[0].parts)
    if not left_out and len(pictures) == 1 and "encoder" in tower.sizes:
        count = tower.sizes["encoder"][1]
        seen = placed_tokens(tower_places(scope.model.config, laid[0], count))
        parts |= tower.readings([seen], [seen], scope.name)[0].parts
    metadata: dict[str, Any] = {"left_out": left_out} if left_out else {}
    return Reading(parts, scope.name, metadata, pictures=tuple(pictures))


def _inputs_with_text(scope: Scope, text: str, pictures: list[Picture]) -> dict[str, Tensor]:
    processor = processor_of(scope, "pictures")
    told = _prompt(processor, text, len(pictures))
    images = [one.image() for one in pictures]
    try:
        return _tensors(processor(text=told, images=images, return_tensors="pt"))
    except (ValueError, TypeError) as error:
        raise BadInput(
            f"The processor of {scope.name} refused this text with its pictures ({error})."
        ) from error


def _see_tower(call: Call, tower: Collector, left_out: list[str]) -> None:
    """Towers that read several tiles or windows apart are left out, and that is said."""
    reason = f"it reads {_rows(call)} tiles apart"
    if _rows(call) == 1:
        try:
            tower(call)
            return
        except BadInput:
            reason = "it looks through windows of different sizes"
    left_out.append(f"The picture tower's own attention is not in this reading: {reason}.")


def _rows(call: Call) -> int:
    return call.q.shape[0] if call.q is not None else call.weights.shape[0]


def _sound(scope: Scope, given: Heard, collect: Collect) -> Reading:
    processor = processor_of(scope, "sound")
    extractor = feature_extractor_of(processor)
    if extractor is None:
        raise BadInput(f"The processor of {scope.name} takes no sound.")
    rate = extractor.sampling_rate
    sound = open_sound(given.audio, given.sampling_rate).at(rate)
    features = extractor(sound.samples, sampling_rate=rate, return_tensors="pt")
    inputs = _moved(scope, _tensors(features))
    of_decoder = None
    if scope.encoder_decoder:
        tokenizer = scope.tokenizer or processor.tokenizer
        ids = transcript(scope, tokenizer, given.text, inputs)
        inputs["decoder_input_ids"] = ids
        of_decoder = tokens_of_ids(tokenizer, ids[0].tolist())
    elif given.text is not None:
        raise BadInput(f"{scope.name} hears sound and reads no text beside it.")
    collector = collect()
    scope.forward(inputs, collector, lazy=True)
    count = collector.sizes["encoder"][1]
    heard = placed_tokens(sound_places(scope.model.config, extractor, count))
    (reading,) = collector.readings([of_decoder or heard], [heard], scope.name)
    named = getattr(getattr(scope.model, "generation_config", None), ALIGNMENT, None)
    metadata = {**reading.metadata, ALIGNMENT: named} if named else reading.metadata
    return dataclasses.replace(reading, sound=sound, metadata=metadata)


def _prompt(processor: Any, text: str, pictures: int) -> str:
    """The text with a place for each picture, as the processor's own template puts it."""
    if getattr(processor, "chat_template", None):
        content: list[dict[str, str]] = [{"type": "image"}] * pictures
        content.append({"type": "text", "text": text})
        turns = [{"role": "user", "content": content}]
        return str(processor.apply_chat_template(turns, add_generation_prompt=True))
    token = getattr(processor, "image_token", None) or ""
    return text if token and token in text else f"{token * pictures}{text}"


def placed_tokens(places: Places) -> Tokens:
    return dataclasses.replace(Tokens.plain(places.names()), places=places)


def named_by_place(tokens: Tokens) -> Tokens:
    """Tokens that stand for a piece of a picture are called by their row and column."""
    assert tokens.places is not None
    names = tokens.places.names()
    labels = tuple(
        name if name and not name.startswith("[") else label
        for name, label in zip(names, tokens.labels, strict=True)
    )
    return dataclasses.replace(tokens, labels=labels)


def _tensors(inputs: Any) -> dict[str, Tensor]:
    return {name: value for name, value in inputs.items() if isinstance(value, Tensor)}


def _moved(scope: Scope, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    kind = next(scope.model.parameters()).dtype
    return {
        name: value.to(scope.device, kind) if value.is_floating_point() else value.to(scope.device)
        for name, value in inputs.items()
    }
