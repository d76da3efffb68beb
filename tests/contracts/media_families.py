"""The matrix of families that see and hear: tiny random models with processors of their kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

import headscope as hs
from headscope.media.picture import Picture
from headscope.media.positions import PositionKind
from headscope.media.sound import Sound
from tests.reading.media import tiled_models as tiled
from tests.reading.media import vision_models as models
from tests.reading.media.vision_models import IMAGE

PICTURES = [
    Picture(np.random.default_rng(seed).integers(0, 256, (60, 100, 3), dtype=np.uint8), f"{seed}")
    for seed in (0, 1)
]
SOUNDS = [
    Sound(np.random.default_rng(seed).standard_normal(8000).astype(np.float32) / 10, 16_000)
    for seed in (0, 1)
]
WORDS = {
    PositionKind.WORD: "words",
    PositionKind.PATCH: "patches",
    PositionKind.FRAME: "frames",
    PositionKind.CLASS: "class token",
    PositionKind.REGISTER: "registers",
    PositionKind.QUERY: "learned queries",
}


@dataclass(frozen=True)
class MediaFamily:
    name: str
    make: Callable[[], hs.Scope]
    reads: Literal["picture", "text with picture", "text", "sound"] = "picture"
    notes: str = ""

    @cached_property
    def scope(self) -> hs.Scope:
        return self.make()

    @property
    def given(self) -> dict[str, Any]:
        if self.reads == "sound":
            text = {"text": "a cat"} if self.scope.encoder_decoder else {}
            return {"audio": SOUNDS[0], **text}
        if self.reads == "text":
            return {"text": "a red cat sat"}
        text = {"text": f"{IMAGE} a red cat"} if self.reads == "text with picture" else {}
        return {"image": PICTURES[0], **text}

    @property
    def corpus(self) -> list[Any]:
        return SOUNDS if self.reads == "sound" else PICTURES


MEDIA_FAMILIES: tuple[MediaFamily, ...] = (
    MediaFamily("ViT", models.vit),
    MediaFamily("DeiT", models.deit, notes="a second class token for distillation"),
    MediaFamily("DINOv2 with registers", models.dino),
    MediaFamily("BEiT", models.beit, notes="positional bias"),
    MediaFamily("Swin", models.swin, notes="windows put back together"),
    MediaFamily("CLIP, pictures", models.clip),
    MediaFamily("CLIP, text", models.clip, "text"),
    MediaFamily("SigLIP, pictures", models.siglip),
    MediaFamily("SigLIP, text", models.siglip, "text"),
    MediaFamily("DETR", models.detr, notes="cells of a feature map; objects look at them"),
    MediaFamily(
        "BLIP-2", tiled.blip2, "text with picture", "the cross attention is that of its queries"
    ),
    MediaFamily(
        "InstructBLIP",
        tiled.instruct_blip,
        "text with picture",
        "as BLIP-2; its queries read the question too",
    ),
    MediaFamily("LLaVA", models.llava, "text with picture"),
    MediaFamily("Qwen2-VL", models.qwen2_vl, "text with picture", "one token for 2 × 2 patches"),
    MediaFamily(
        "Qwen2.5-VL",
        models.qwen25_vl,
        "text with picture",
        "the tower looks through windows of different sizes and is left out",
    ),
    MediaFamily("PaliGemma", models.paligemma, "text with picture"),
    MediaFamily("Gemma 3 with pictures", models.gemma3, "text with picture", "pooled patches"),
    MediaFamily(
        "InternVL", tiled.internvl, "text with picture", "tiles; the tower reads them apart"
    ),
    MediaFamily(
        "Idefics 3", tiled.idefics3, "text with picture", "tiles; the tower reads them apart"
    ),
    MediaFamily("Whisper", models.whisper, "sound"),
    MediaFamily("wav2vec 2", models.wav2vec2, "sound"),
    MediaFamily("AST", models.ast, "sound", "patches of the spectrogram, by their time"),
)

HEAD = """
## Families that see and hear

Each is read through a processor of its kind, from a picture of 100 × 60 pixels or half a second of
sound. `tests/contracts/test_media_families.py` holds what is captured to what the model's own eager
attention modules give (1e-5), a head switched off to the model with that head's values set to zero,
and a survey to the mean of its readings; `tests/reading/media/test_positions.py` paints patches to
see that they lie where their rectangles say.

| family | reads | attention | positions looked at | notes |
|---|---|---|---|---|
"""


def media_page() -> str:
    return HEAD + "".join(_row(family) for family in MEDIA_FAMILIES)


def _row(family: MediaFamily) -> str:
    reading = family.scope.read(**family.given)
    kinds = ", ".join(reading.kinds)
    found = {
        PositionKind(number)
        for part in reading.parts.values()
        if part.key.positions is not None
        for number in part.key.positions.kinds
    }
    told = ", ".join(word for kind, word in WORDS.items() if kind in found) or "words"
    return f"| {family.name} | {family.reads} | {kinds} | {told} | {family.notes} |\n"
