"""Pictures to learn from: scikit-learn's handwritten digits, put somewhere on a noisy ground.

A digit covers a quarter of its picture, so that finding it is part of the task, and where it lies
is known: a head that looks at the digit can be told from one that looks anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SIDE, DIGIT = 32, 16
HELD_OUT = 360  # digits never trained on


@dataclass(frozen=True)
class Pictures:
    pixels: NDArray[np.uint8]  # n side side 3
    labels: NDArray[np.int64]  # n
    boxes: NDArray[np.int64]  # n 4: left, top, right, bottom of the digit


def draw(count: int, seed: int, held_out: bool = False) -> Pictures:
    """Digits in random places, each with its own light, ink and noise."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images, targets = np.asarray(digits.images), np.asarray(digits.target)
    own = slice(-HELD_OUT, None) if held_out else slice(None, -HELD_OUT)
    images, targets = images[own], targets[own]
    random = np.random.default_rng(seed)
    chosen = random.integers(len(images), size=count)
    pixels = random.normal(0.45, 0.08, (count, SIDE, SIDE, 3))
    pixels += random.uniform(-0.15, 0.15, (count, 1, 1, 3))
    left, top = random.integers(0, SIDE - DIGIT + 1, (2, count))
    ink = random.uniform(0.75, 1.0, (count, 3)) * np.sign(random.random((count, 1)) - 0.35)
    for place, digit in enumerate(chosen):
        strokes = np.kron(images[digit] / 16, np.ones((2, 2)))[:, :, None] * ink[place] * 0.6
        pixels[place, top[place] :, left[place] :][:DIGIT, :DIGIT] += strokes
    boxes = np.stack([left, top, left + DIGIT, top + DIGIT], axis=1)
    return Pictures((np.clip(pixels, 0, 1) * 255).round().astype(np.uint8), targets[chosen], boxes)
