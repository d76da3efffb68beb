"""Where nothing is said: stretches of a sound that are quiet for long enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headscope.media.sound import Sound

STEP = 0.01  # seconds over which loudness is taken
QUIET = 0.03  # of the loudest step
LEAST = 0.1  # seconds; the closure before a p, t or k is shorter


def pauses(sound: Sound) -> NDArray[np.float64]:
    """From and to of every pause, in seconds, n × 2."""
    step = max(1, round(STEP * sound.rate))
    whole = sound.samples[: len(sound.samples) // step * step].reshape(-1, step)
    loudness = np.sqrt((whole.astype(np.float64) ** 2).mean(axis=1))
    quiet = loudness <= QUIET * loudness.max(initial=0.0)
    edges = np.flatnonzero(np.diff(quiet.astype(np.int8), prepend=0, append=0))
    found = edges.reshape(-1, 2) * step / sound.rate
    return found[found[:, 1] - found[:, 0] >= LEAST - 1e-9]
