"""Draw what comes with the app: python -m examples.media_examples FOLDER."""

from __future__ import annotations

import sys
import wave
from pathlib import Path

import numpy as np
from PIL import Image

from training.vision.digits import draw

RATE = 16_000


def main(folder: Path) -> None:
    drawn = draw(400, seed=17, held_out=True)
    sums = drawn.boxes[:, 0] + drawn.boxes[:, 1]
    seven = int(np.flatnonzero((drawn.labels == 7) & (drawn.boxes[:, 0] > 8))[0])
    fours = np.flatnonzero(drawn.labels == 4)
    four = int(fours[sums[fours].argmin()])  # nearest the upper left corner
    Image.fromarray(drawn.pixels[seven]).save(folder / "seven.png", optimize=True)
    Image.fromarray(drawn.pixels[four]).save(folder / "four.png", optimize=True)
    with wave.open(str(folder / "tones.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((tones() * 12_000).astype("<i2").tobytes())


def tones() -> np.ndarray:
    """Four tones, each higher than the one before, with pauses between them."""
    parts = []
    for pitch in (220, 330, 440, 660):
        at = np.arange(int(RATE * 0.35)) / RATE
        swell = np.sqrt(np.maximum(np.sin(np.pi * at / at[-1]), 0))
        parts += [np.sin(2 * np.pi * pitch * at) * swell, np.zeros(int(RATE * 0.15))]
    return np.concatenate(parts)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
