"""A small corpus of words the tiny models know, and atlases of it."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs

WORDS = "the cat sat on mat and dog ran to house red green blue tree it was in of one two".split()


def texts(count: int, seed: int = 0) -> list[tuple[str, str]]:
    chance = np.random.default_rng(seed)
    return [
        (
            " ".join(chance.choice(WORDS, chance.integers(3, 14))) + ".",
            " ".join(chance.choice(WORDS, chance.integers(3, 9))),
        )
        for _ in range(count)
    ]


@pytest.fixture(scope="session")
def corpus():
    return texts(30)


@pytest.fixture(scope="session")
def atlas(tiny_bert, corpus):
    return hs.atlas(tiny_bert, corpus, top=6, progress=False)
