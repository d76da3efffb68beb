"""Read a sound: every frame has its seconds, and a decoder its transcript."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from headscope.errors import BadInput
from headscope.media.positions import PositionKind, Positions
from headscope.media.sound import open_sound
from headscope.reading.collecting.collector import Collector
from headscope.reading.inputs.processors import (
    Asked,
    Whole,
    collected,
    feature_extractor_of,
    moved,
    positioned_tokens,
    processor_of,
    tensors_of,
)
from headscope.reading.reading import Reading
from headscope.reading.word_times import ALIGNMENT
from headscope.text.of_ids import tokens_of_ids

if TYPE_CHECKING:
    from headscope.reading.scope import Scope


def sound_reading(
    scope: Scope, audio: Any, sampling_rate: int | None, text: str | None, asked: Asked
) -> Reading:
    """Read a sound, with what the decoder reads where the model has one."""
    processor = processor_of(scope, "sound")
    extractor = feature_extractor_of(processor)
    if extractor is None:
        raise BadInput(f"The processor of {scope.name} takes no sound.")
    rate = extractor.sampling_rate
    sound = open_sound(audio, sampling_rate).at(rate)
    features = extractor(sound.samples, sampling_rate=rate, return_tensors="pt")
    inputs = moved(scope, tensors_of(features))
    least = least_samples(scope.model.config)
    if "input_values" in inputs and inputs["input_values"].shape[-1] < least:
        raise BadInput(
            f"The sound lasts {1000 * sound.seconds:.1f} ms and {scope.name} needs at "
            f"least {1000 * least / rate:.1f} ms; give a longer one."
        )
    of_decoder = None
    if scope.encoder_decoder:
        tokenizer = scope.tokenizer or processor.tokenizer
        ids = transcript(scope, tokenizer, text, inputs)
        inputs["decoder_input_ids"] = ids
        of_decoder = tokens_of_ids(tokenizer, ids[0].tolist())
    elif text is not None:
        raise BadInput(f"{scope.name} takes sound without text; leave the text out.")

    def read(whole: Whole) -> dict[str, Collector]:
        collector = asked.collector(whole)
        scope.forward(inputs, collector, lazy=True)
        return {"heard": collector}

    collector = collected(read)["heard"]
    count = collector.sizes["encoder"][1]
    heard = positioned_tokens(sound_positions(scope.model.config, extractor, count))
    (reading,) = collector.readings([of_decoder or heard], [heard], scope.name)
    named = getattr(getattr(scope.model, "generation_config", None), ALIGNMENT, None)
    metadata = {**reading.metadata, ALIGNMENT: named} if named else reading.metadata
    return dataclasses.replace(reading, sound=sound, metadata=metadata)


# The moment of a sound for each position of a model.

HOP = 0.01  # seconds between the columns of a spectrogram, in every family read here


def sound_positions(configuration: Any, extractor: Any, count: int) -> Positions:
    """Positions of `count` positions, in seconds from the beginning of the sound."""
    strides = getattr(configuration, "conv_stride", None)
    if strides is not None:  # convolutions over samples: wav2vec 2 and similar models
        return _evenly(count, prod(strides) / extractor.sampling_rate)
    if getattr(configuration, "max_source_positions", None) is not None:  # Whisper
        hop = extractor.hop_length / extractor.sampling_rate
        return _evenly(count, hop * extractor.nb_max_frames / configuration.max_source_positions)
    if getattr(configuration, "time_stride", None) is not None:
        return _spectrogram_patches(configuration, count)
    raise BadInput(
        "headscope does not know which part of a sound each position of "
        f"{configuration.model_type} covers; use scope.read_inputs with names of "
        "your own."
    )


def least_samples(configuration: Any) -> int:
    """How many samples one position is made of, where samples go through convolutions."""
    kernels = getattr(configuration, "conv_kernel", None) or ()
    strides = getattr(configuration, "conv_stride", None) or ()
    least = 1
    for kernel, stride in reversed(list(zip(kernels, strides, strict=False))):
        least = (least - 1) * stride + kernel
    return least


def _evenly(count: int, step: float) -> Positions:
    starts = np.arange(count) * step
    return Positions.frames(np.stack([starts, starts + step], axis=1).astype(np.float32))


def _spectrogram_patches(configuration: Any, count: int) -> Positions:
    """The audio spectrogram transformer: overlapping patches, low frequencies first."""
    patch, step = configuration.patch_size, configuration.time_stride
    rows = (configuration.num_mel_bins - patch) // configuration.frequency_stride + 1
    columns = (configuration.max_length - patch) // step + 1
    extra = count - rows * columns
    if extra < 0:
        raise BadInput(f"There are {count} positions, fewer than the patches of the spectrogram.")
    starts = np.tile(np.arange(columns) * step, rows) * HOP
    patches = Positions.frames(np.stack([starts, starts + patch * HOP], axis=1).astype(np.float32))
    grid = np.stack([np.repeat(np.arange(rows), columns), np.tile(np.arange(columns), rows)], 1)
    patches.grid[:] = grid
    kinds = np.full(extra, PositionKind.SPECIAL, np.int8)
    kinds[:1] = PositionKind.CLASS
    return Positions.joined(Positions.nowhere(kinds), patches)


# What the decoder of a speech model reads: the caller's text, or the model's transcript.

MOST_TOKENS = 200  # of a transcript; Whisper reads half a minute at a time


def transcript(
    scope: Scope, tokenizer: Any, text: str | None, inputs: Mapping[str, Tensor]
) -> Tensor:
    """1 × tokens as in the model's training: a transcript's first tokens, text, end."""
    if text is not None:
        return torch.tensor([tokenizer(text).input_ids], device=scope.device)
    if getattr(tokenizer, "prefix_tokens", None) is None:
        with torch.no_grad():
            return scope.model.generate(**inputs, max_new_tokens=MOST_TOKENS)
    return _heard(scope, tokenizer, inputs)


def _heard(scope: Scope, tokenizer: Any, inputs: Mapping[str, Tensor]) -> Tensor:
    """Whisper's own transcript; it detects the language first, unless the tokenizer names one.

    The ids come from the tokenizer: a generation configuration that was not saved with the model
    holds those of another vocabulary, and the model would continue past its end.
    """
    before = _beginning(scope, tokenizer, inputs)
    settings = copy.deepcopy(scope.model.generation_config)
    settings.decoder_start_token_id = before[0]
    settings.eos_token_id = settings.pad_token_id = tokenizer.eos_token_id
    settings.begin_suppress_tokens = [
        tokenizer(" ", add_special_tokens=False).input_ids[0],
        tokenizer.eos_token_id,
    ]
    settings.max_new_tokens, settings.max_length = MOST_TOKENS, None
    with torch.no_grad():
        made = scope.model.generate(
            **inputs,
            generation_config=settings,
            decoder_input_ids=torch.tensor([before], device=scope.device),
        )
    words = [one for one in made[0].tolist() if one < tokenizer.eos_token_id]  # marks come after
    return torch.tensor([[*before, *words, tokenizer.eos_token_id]], device=scope.device)


def _beginning(scope: Scope, tokenizer: Any, inputs: Mapping[str, Tensor]) -> list[int]:
    own = [int(one) for one in tokenizer.prefix_tokens]
    several = getattr(scope.model.generation_config, "lang_to_id", None)
    if not several or getattr(tokenizer, "language", None):
        return own
    with torch.no_grad():
        found = scope.model.detect_language(input_features=inputs["input_features"])
    task = tokenizer.convert_tokens_to_ids(["<|transcribe|>", "<|notimestamps|>"])
    return [own[0], int(found[0]), *map(int, task)]
