"""Read a sound: every frame knows its seconds, and a decoder its transcript."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from headscope.errors import BadInput
from headscope.media.sound import open_sound
from headscope.reading.collecting.collector import Collector
from headscope.reading.generating.generated import tokens_of_ids
from headscope.reading.media.collecting import (
    Asked,
    Whole,
    collected,
    moved,
    placed_tokens,
    tensors_of,
)
from headscope.reading.media.processors import feature_extractor_of, processor_of
from headscope.reading.media.sound_places import sound_places
from headscope.reading.media.transcript import transcript
from headscope.reading.media.word_times import ALIGNMENT
from headscope.reading.reading import Reading

if TYPE_CHECKING:
    from headscope.reading.media.read import Heard
    from headscope.reading.scope import Scope


def sound_reading(scope: Scope, given: Heard, asked: Asked) -> Reading:
    processor = processor_of(scope, "sound")
    extractor = feature_extractor_of(processor)
    if extractor is None:
        raise BadInput(f"The processor of {scope.name} takes no sound.")
    rate = extractor.sampling_rate
    sound = open_sound(given.audio, given.sampling_rate).at(rate)
    features = extractor(sound.samples, sampling_rate=rate, return_tensors="pt")
    inputs = moved(scope, tensors_of(features))
    of_decoder = None
    if scope.encoder_decoder:
        tokenizer = scope.tokenizer or processor.tokenizer
        ids = transcript(scope, tokenizer, given.text, inputs)
        inputs["decoder_input_ids"] = ids
        of_decoder = tokens_of_ids(tokenizer, ids[0].tolist())
    elif given.text is not None:
        raise BadInput(f"{scope.name} hears sound and reads no text beside it.")

    def read(whole: Whole) -> dict[str, Collector]:
        collector = asked.collector(whole)
        scope.forward(inputs, collector, lazy=True)
        return {"heard": collector}

    collector = collected(read)["heard"]
    count = collector.sizes["encoder"][1]
    heard = placed_tokens(sound_places(scope.model.config, extractor, count))
    (reading,) = collector.readings([of_decoder or heard], [heard], scope.name)
    named = getattr(getattr(scope.model, "generation_config", None), ALIGNMENT, None)
    metadata = {**reading.metadata, ALIGNMENT: named} if named else reading.metadata
    return dataclasses.replace(reading, sound=sound, metadata=metadata)
