"""A sound as one channel of samples, at the rate a model wants."""

from __future__ import annotations

import io
from dataclasses import dataclass
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput

MOST_SECONDS = 600.0  # attention over sound is read at 50 positions a second


@dataclass(frozen=True, eq=False)
class Sound:
    """Samples between −1 and 1, and how many there are a second."""

    samples: NDArray[np.float32]
    rate: int
    name: str = ""

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate

    def at(self, rate: int) -> Sound:
        """The same sound at another rate."""
        if rate == self.rate:
            return self
        from scipy.signal import resample_poly

        shared = gcd(rate, self.rate)
        made = resample_poly(self.samples, rate // shared, self.rate // shared)
        return Sound(np.asarray(made, dtype=np.float32), rate, self.name)


def open_sound(source: Any, rate: int | None = None, name: str = "") -> Sound:
    """A path or the bytes of a sound file, or samples (with `rate`, how many a second)."""
    if isinstance(source, Sound):
        return source
    if isinstance(source, (str, Path)):
        path = Path(source).expanduser()
        if not path.is_file():
            raise BadInput(f"There is no sound {source}; check the path.")
        return _decoded(path, str(source), name or path.name)
    if isinstance(source, (bytes, bytearray)):
        return _decoded(io.BytesIO(bytes(source)), name or "The sound", name)
    if hasattr(source, "__array__") or hasattr(source, "numpy"):
        return _from_array(np.asarray(source), rate, name)
    raise BadInput(
        f"A sound cannot be made of {type(source).__name__}; give a path or an array of samples."
    )


def _decoded(file: Any, told: str, name: str) -> Sound:
    try:
        import soundfile  # pyright: ignore[reportMissingImports]
    except ImportError:
        return _wav(file, told, name)
    try:
        with soundfile.SoundFile(file) as opened:
            _check_length(opened.frames / opened.samplerate, told)
            samples = opened.read(dtype="float32", always_2d=True)
            return _from_array(samples, opened.samplerate, name)
    except soundfile.LibsndfileError as error:
        raise BadInput(
            f"{told} is not a sound that can be read here ({error}); give WAV, FLAC or OGG."
        ) from error


def _wav(file: Any, told: str, name: str) -> Sound:
    from scipy.io import wavfile

    try:
        rate, samples = wavfile.read(file, mmap=isinstance(file, Path))
    except (ValueError, EOFError, OSError) as error:
        raise BadInput(
            f"{told} is not a WAV file that can be read ({error}); "
            "other formats need: pip install 'headscope[sound]'."
        ) from error
    _check_length(len(samples) / rate, told)
    return _from_array(np.asarray(samples), rate, name)


def _from_array(samples: NDArray[Any], rate: int | None, name: str) -> Sound:
    if rate is None:
        raise BadInput("Say how many samples there are a second: sampling_rate=16000.")
    if samples.ndim == 2:  # several channels: their mean, whichever axis they are on
        samples = samples.mean(axis=1 if samples.shape[1] <= samples.shape[0] else 0)
    if samples.ndim != 1 or not len(samples):
        raise BadInput("A sound is a row of samples, or one row for each channel; this has none.")
    values = samples.astype(np.float32)
    if samples.dtype.kind in "iu":
        half = (np.iinfo(samples.dtype).max + 1) / (2 if samples.dtype.kind == "u" else 1)
        values = (values - half if samples.dtype.kind == "u" else values) / half
    if not np.isfinite(values).all():
        raise BadInput("The sound holds values that are no numbers.")
    _check_length(len(values) / rate, name or "The sound")
    return Sound(values.astype(np.float32), int(rate), name)


def _check_length(seconds: float, told: str) -> None:
    if seconds > MOST_SECONDS:
        raise BadInput(
            f"{told} lasts {seconds / 60:.0f} minutes; cut it to at most "
            f"{MOST_SECONDS / 60:.0f}, models read far less at once."
        )
