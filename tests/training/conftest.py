"""A made-up world small enough to train on in seconds."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from training import stage, tokenizer

NAMES = ["anna", "boris", "clara", "dmitri", "elena", "farid", "greta", "hugo"]
THINGS = ["strawberries", "blackberries", "bread", "candles", "books", "apples", "lanterns"]
PLACES = ["store", "market", "harbour", "garden", "library", "station"]


def story(rng: random.Random) -> list[str]:
    name, place = rng.choice(NAMES), rng.choice(PLACES)
    lines = []
    for _ in range(rng.randint(4, 8)):
        thing, other = rng.sample(THINGS, 2)
        lines.append(
            f"Mr. {name.title()} went to the {place} early. At the {place}, {name} bought fresh "
            f"{thing}, and some {other} too. Did {name} like the {thing}? "
            f"Nobody at the {place} knew."
        )
    return lines


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(0)
    path = tmp_path_factory.mktemp("corpus") / "made-up.txt"
    path.write_text("\n\n".join("\n".join(story(rng)) for _ in range(900)) + "\n")
    return path


@pytest.fixture(scope="session")
def tokenizer_folder(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    vocabulary = tokenizer.train(corpus.read_text().splitlines(), 120, also=["##berries"])
    tokenizer.save(vocabulary, folder)
    return folder


@pytest.fixture(scope="session")
def staged(corpus: Path, tokenizer_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("staged")
    stage.stage([corpus], tokenizer_folder, folder, workers=1)
    return folder
