"""Which moment of a sound each position of a model hears."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from headscope.errors import BadInput
from headscope.media.places import PlaceKind, Places

HOP = 0.01  # seconds between the columns of a spectrogram, in every family read here


def sound_places(configuration: Any, extractor: Any, count: int) -> Places:
    """Places of `count` positions, in seconds from the beginning of the sound."""
    strides = getattr(configuration, "conv_stride", None)
    if strides is not None:  # samples go through convolutions: wav2vec 2 and its kin
        return _evenly(count, prod(strides) / extractor.sampling_rate)
    if getattr(configuration, "max_source_positions", None) is not None:  # Whisper
        hop = extractor.hop_length / extractor.sampling_rate
        return _evenly(count, hop * extractor.nb_max_frames / configuration.max_source_positions)
    if getattr(configuration, "time_stride", None) is not None:
        return _spectrogram_patches(configuration, count)
    raise BadInput(
        f"headscope does not know which moments the positions of {configuration.model_type} hear; "
        "use scope.read_inputs with names of your own."
    )


def _evenly(count: int, step: float) -> Places:
    starts = np.arange(count) * step
    return Places.frames(np.stack([starts, starts + step], axis=1).astype(np.float32))


def _spectrogram_patches(configuration: Any, count: int) -> Places:
    """The audio spectrogram transformer: overlapping patches, low frequencies first."""
    patch, step = configuration.patch_size, configuration.time_stride
    rows = (configuration.num_mel_bins - patch) // configuration.frequency_stride + 1
    columns = (configuration.max_length - patch) // step + 1
    extra = count - rows * columns
    if extra < 0:
        raise BadInput(f"There are {count} positions, fewer than the patches of the spectrogram.")
    starts = np.tile(np.arange(columns) * step, rows) * HOP
    placed = Places.frames(np.stack([starts, starts + patch * HOP], axis=1).astype(np.float32))
    grid = np.stack([np.repeat(np.arange(rows), columns), np.tile(np.arange(columns), rows)], 1)
    placed.grid[:] = grid
    kinds = np.full(extra, PlaceKind.SPECIAL, np.int8)
    kinds[:1] = PlaceKind.CLASS
    return Places.joined(Places.nowhere(kinds), placed)
