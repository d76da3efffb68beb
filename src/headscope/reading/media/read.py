"""Read a picture, a text about pictures, or a sound, with every position knowing its place."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from headscope.capture.call import Call
from headscope.errors import BadInput
from headscope.media.picture import Picture, open_picture
from headscope.media.picture_inputs import Laid, image_processor_of, lay
from headscope.reading.arguments import check_layers
from headscope.reading.collecting.collector import Collector
from headscope.reading.collecting.keeping import Keeping
from headscope.reading.media.collecting import (
    Asked,
    Whole,
    collected,
    moved,
    placed_tokens,
    rows_of,
    tensors_of,
)
from headscope.reading.media.heard import sound_reading
from headscope.reading.media.image_tokens import image_token
from headscope.reading.media.processors import processor_of
from headscope.reading.media.tower import grid_size, tower_places
from headscope.reading.media.windows import WHY_NO_QK, Windows
from headscope.reading.media.with_text import reading_with_text
from headscope.reading.reading import Reading
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading.scope import Scope


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
    asked = Asked(keeping, layers)
    if given.audio is not None:
        return sound_reading(scope, given, asked)
    pictures = [open_picture(one) for one in _listed(given.image)]
    processor = image_processor_of(processor_of(scope, "pictures"))
    if processor is None:
        raise BadInput(f"The processor of {scope.name} takes no pictures.")
    laid = [lay(processor, picture) for picture in pictures]
    if image_token(scope.model.config) is not None:
        return reading_with_text(scope, given.text or "", pictures, laid, asked)
    if given.text is not None:
        raise BadInput(
            f"{scope.name} does not read text and pictures as one; read them apart: "
            "scope.read(text) and scope.read(image=picture)."
        )
    return _picture_alone(scope, processor, pictures, laid, asked)


def _listed(image: Any) -> Sequence[Any]:
    return image if isinstance(image, (list, tuple)) else [image]


def _picture_alone(
    scope: Scope, processor: Any, pictures: list[Picture], laid: list[Laid], asked: Asked
) -> Reading:
    if len(pictures) > 1:
        raise BadInput("This model reads one picture at a time; call scope.read for each.")
    inputs = moved(scope, tensors_of(processor(images=pictures[0].image(), return_tensors="pt")))
    windows = Windows(scope.model, grid_size(scope.model.config, laid[0]) or (0, 0))

    def read(whole: Whole) -> dict[str, Collector]:
        collector = asked.collector(whole)

        def sink(call: Call) -> None:
            if asked.layers is None or call.layer in asked.layers:
                call = windows(call)
                if rows_of(call) != 1:
                    raise BadInput(
                        f"{scope.name} looks through {rows_of(call)} windows apart, so that no map "
                        "covers the picture; use scope.capture to see its calls."
                    )
            collector(call)

        scope.forward(inputs, sink, lazy=True)
        return {"seen": collector}

    collector = collected(read)["seen"]
    keys = collector.sizes["encoder"][1]
    finest = windows.finest if windows.used else None
    of_keys = placed_tokens(tower_places(scope.model, laid[0], keys, grid=finest))
    of_queries = of_keys
    if "decoder" in collector.sizes:  # a detector's queries: learned, lying nowhere
        count = collector.sizes["decoder"][0]
        of_queries = Tokens.plain([f"object {number}" for number in range(count)])
    (reading,) = collector.readings([of_queries], [of_keys], scope.name)
    if windows.used:
        parts = {
            kind: dataclasses.replace(part, why_no_qk=WHY_NO_QK)
            for kind, part in reading.parts.items()
        }
        reading = dataclasses.replace(reading, parts=parts)
    return dataclasses.replace(reading, pictures=tuple(pictures))
