"""A sound as one channel of samples, at the model's rate."""

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
RATES = (1_000, 384_000)  # samples a second; resampling takes memory that grows with the rate
MOST_SAMPLES = 60_000_000  # in all channels: ten minutes of stereo at 48 kHz


@dataclass(frozen=True, eq=False)
class Sound:
    """Samples between −1 and 1, and their number per second."""

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


def open_sound(
    source: Any, rate: int | None = None, name: str = "", most_seconds: float = MOST_SECONDS
) -> Sound:
    """Open a path, the bytes of a sound file, or samples (with `rate`, their number per second)."""
    if isinstance(source, Sound):
        return source
    if isinstance(source, (str, Path)):
        path = Path(source).expanduser()
        if not path.is_file():
            raise BadInput(f"There is no sound file at {source}; check the path.")
        return _decoded(path, str(source), name or path.name, most_seconds)
    if isinstance(source, (bytes, bytearray)):
        return _decoded(io.BytesIO(bytes(source)), name or "The sound", name, most_seconds)
    if hasattr(source, "__array__") or hasattr(source, "numpy"):
        return _from_array(np.asarray(source), rate, name)
    raise BadInput(
        f"A sound cannot be made of {type(source).__name__}; give a path or an array of samples."
    )


def _decoded(file: Any, told: str, name: str, most_seconds: float) -> Sound:
    try:
        import soundfile  # pyright: ignore[reportMissingImports]
    except ImportError:
        return _wav(file, told, name, most_seconds)
    try:
        with soundfile.SoundFile(file) as opened:
            _check(opened.frames, opened.channels, opened.samplerate, told, most_seconds)
            samples = opened.read(dtype="float32", always_2d=True)
            return _from_array(samples, opened.samplerate, name)
    except (soundfile.SoundFileError, OSError, ValueError) as error:
        raise BadInput(
            f"{told} is not a sound that can be read here ({error}); give WAV, FLAC or OGG."
        ) from error


def _wav(file: Any, told: str, name: str, most_seconds: float) -> Sound:
    from scipy.io import wavfile

    try:
        rate, samples = wavfile.read(file, mmap=isinstance(file, Path))
    except Exception as error:  # scipy's parser fails in many ways on a damaged file
        raise BadInput(
            f"{told} is not a WAV file that can be read ({error}); "
            "other formats need: pip install 'headscope[sound]'."
        ) from error
    channels = samples.size // max(len(samples), 1)
    _check(len(samples), channels, rate, told, most_seconds)
    return _from_array(np.asarray(samples), rate, name)


def _from_array(samples: NDArray[Any], rate: int | None, name: str) -> Sound:
    if rate is None:
        raise BadInput("Give the samples per second: sampling_rate=16000.")
    if samples.ndim == 2:  # several channels on either axis: their mean
        samples = samples.mean(axis=1 if samples.shape[1] <= samples.shape[0] else 0)
    if samples.ndim != 1 or not len(samples):
        raise BadInput(
            "A sound is a row of samples, or one row for each channel; this one is empty."
        )
    values = samples.astype(np.float32)
    if samples.dtype.kind in "iu":
        half = (np.iinfo(samples.dtype).max + 1) / (2 if samples.dtype.kind == "u" else 1)
        values = (values - half if samples.dtype.kind == "u" else values) / half
    if not np.isfinite(values).all():
        raise BadInput("The sound holds NaN or infinite values; replace them first.")
    _check(len(values), 1, rate, name or "The sound", MOST_SECONDS)
    return Sound(values.astype(np.float32), int(rate), name)


def _check(frames: int, channels: int, rate: int, told: str, most_seconds: float) -> None:
    """Check before decoding: a small file may claim to be huge."""
    seconds = frames / max(rate, 1)
    if seconds > most_seconds:
        lasts = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} minutes"
        raise BadInput(
            f"{told} lasts {lasts}, and at most {most_seconds:.0f} s of audio can be read; "
            "shorten it."
        )
    if not RATES[0] <= rate <= RATES[1]:
        raise BadInput(
            f"{told} has {rate:,} samples per second; resample it to {RATES[0]:,} to {RATES[1]:,}."
        )
    if frames * channels > MOST_SAMPLES:
        raise BadInput(
            f"{told} has {frames * channels / 1e6:.0f} million samples in {channels} channels; "
            f"resample it to at most {MOST_SAMPLES / 1e6:.0f} million."
        )


# Pauses: quiet stretches of a sound that are long enough.

STEP = 0.01  # seconds over which loudness is measured
QUIET = 0.03  # of the loudest step
LEAST = 0.1  # seconds; the closure before a p, t or k is shorter


def pauses(sound: Sound) -> NDArray[np.float64]:
    """Start and end of every pause, in seconds, n × 2."""
    step = max(1, round(STEP * sound.rate))
    whole = sound.samples[: len(sound.samples) // step * step].reshape(-1, step)
    loudness = np.sqrt((whole.astype(np.float64) ** 2).mean(axis=1))
    quiet = loudness <= QUIET * loudness.max(initial=0.0)
    edges = np.flatnonzero(np.diff(quiet.astype(np.int8), prepend=0, append=0))
    found = edges.reshape(-1, 2) * step / sound.rate
    return found[found[:, 1] - found[:, 0] >= LEAST - 1e-9]


# A sound as a picture: time across, frequency upwards, loudness as shade.

BANDS, MOST_COLUMNS = 64, 1200
FAINTEST = 70.0  # decibels below the loudest that are shown


def spectrogram(sound: Sound) -> NDArray[np.uint8]:
    """Bands × moments, low frequencies first, 255 for the loudest.

    Bands are as wide as the ear's (the mel scale), so that speech fills the picture.
    """
    from scipy.signal import ShortTimeFFT
    from scipy.signal.windows import hann

    window = max(64, int(sound.rate * 0.025))
    step = max(1, int(sound.rate * 0.01), len(sound.samples) // MOST_COLUMNS)
    samples = np.pad(sound.samples, (0, max(0, window - len(sound.samples))))
    transform = ShortTimeFFT(hann(window), step, sound.rate, scale_to="magnitude")
    columns = -(-len(samples) // step)
    power = transform.spectrogram(samples, p0=0, p1=columns)  # frequencies, moments
    mel = 2595 * np.log10(1 + transform.f / 700)
    band = np.minimum((mel / mel[-1] * BANDS).astype(int), BANDS - 1)
    banded = np.zeros((BANDS, power.shape[1]))
    np.maximum.at(banded, band, power)
    for empty in np.setdiff1d(np.arange(BANDS), band):  # low bands narrower than a frequency step
        banded[empty] = banded[empty - 1]
    decibels = 10 * np.log10(np.maximum(banded, 1e-12) / max(float(banded.max()), 1e-12))
    return np.clip((decibels / FAINTEST + 1) * 255, 0, 255).round().astype(np.uint8)
