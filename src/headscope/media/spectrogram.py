"""A sound as a picture: time across, frequency upwards, loudness as shade."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headscope.media.sound import Sound

BANDS, MOST_COLUMNS = 64, 1200
QUIET = 70.0  # decibels below the loudest that are shown


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
    return np.clip((decibels / QUIET + 1) * 255, 0, 255).round().astype(np.uint8)
