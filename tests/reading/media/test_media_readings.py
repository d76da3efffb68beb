"""Pictures and sounds are read exactly, and every position knows where it lies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.errors import BadInput
from headscope.media.positions import PositionKind
from tests.reading.media import tiled_models as tiled
from tests.reading.media import vision_models as models
from tests.reading.media.vision_models import IMAGE

PICTURE = np.random.default_rng(0).integers(0, 256, (60, 100, 3), dtype=np.uint8)
NOISE = np.random.default_rng(0).standard_normal(8000).astype(np.float32) / 10
ALONE = [models.vit, models.deit, models.dino, models.beit, models.clip, models.siglip, models.detr]
WITH_TEXT = [models.llava, models.gemma3, models.paligemma, models.qwen2_vl, models.qwen25_vl]
HEARD = [models.whisper, models.wav2vec2, models.ast]
Make = Callable[[], hs.Scope]


def _name(make: Make) -> str:
    return make.__name__


@pytest.mark.parametrize("make", ALONE, ids=_name)
def test_the_patches_of_a_picture_cover_what_the_model_sees_of_it(make: Make) -> None:
    reading = make().read(image=PICTURE)
    positions = reading.part("encoder").key.positions
    assert positions is not None
    patches = positions.rectangles[positions.kinds == PositionKind.PATCH]
    widths, heights = patches[:, 2] - patches[:, 0], patches[:, 3] - patches[:, 1]
    whole = (patches[:, 2].max() - patches[:, 0].min()) * (
        patches[:, 3].max() - patches[:, 1].min()
    )
    assert (widths * heights).sum() == pytest.approx(whole, rel=1e-3)  # no overlap, no gap
    assert patches.min() > -1 and patches[:, 2].max() < 101 and patches[:, 3].max() < 61
    assert np.allclose(reading.attention.sum("key"), 1, atol=1e-5)


def test_class_and_register_tokens_are_called_so() -> None:
    positions = models.dino().read(image=PICTURE).part().query.positions
    assert positions is not None
    assert positions.names()[:5] == ["[CLS]", "[REG1]", "[REG2]", "[REG3]", "r0 c0"]


@pytest.mark.parametrize("make", WITH_TEXT, ids=_name)
def test_tokens_of_a_text_that_stand_for_a_picture_know_their_part_of_it(make: Make) -> None:
    reading = make().read(f"{IMAGE} a red cat", image=PICTURE)
    part = reading.part("decoder")
    positions = part.query.positions
    assert positions is not None
    patches = positions.rectangles[positions.kinds == PositionKind.PATCH]
    assert len(patches) >= 4
    assert part.query.labels[1] == "r0 c0" and part.query.labels[-2] == "cat"
    assert patches[0, 0] < patches[1, 0] and patches[0, 1] < patches[-1, 1]
    assert np.allclose(part.attention.sum("key"), 1, atol=1e-5)


def test_a_tower_that_looks_through_windows_is_left_out_and_that_is_said() -> None:
    reading = models.qwen25_vl().read(f"{IMAGE} a cat", image=PICTURE)
    assert reading.kinds == ("decoder",)
    assert "windows" in reading.metadata["left_out"][0]


@pytest.mark.parametrize("make", HEARD, ids=_name)
def test_positions_of_a_sound_know_their_time(make: Make) -> None:
    text = {"text": "a cat"} if make is models.whisper else {}
    reading = make().read(audio=NOISE, sampling_rate=16000, **text)
    kind: Any = "cross" if make is models.whisper else "encoder"
    positions = reading.part(kind).key.positions
    assert positions is not None
    seconds = positions.seconds[positions.kinds == PositionKind.FRAME]
    assert seconds[0, 0] == 0
    assert (seconds[:, 1] > seconds[:, 0]).all()
    assert reading.sound is not None and reading.sound.seconds == pytest.approx(0.5)
    assert np.allclose(reading.part(kind).attention.sum("key"), 1, atol=1e-5)


def test_wav2vec_frames_are_as_far_apart_as_its_convolutions_step() -> None:
    positions = models.wav2vec2().read(audio=NOISE, sampling_rate=16000).part().query.positions
    assert positions is not None
    assert np.allclose(np.diff(positions.seconds[:, 0]), 0.02)
    assert positions.seconds[-1, 1] == pytest.approx(0.5)


def test_a_reading_of_a_picture_comes_back_from_its_file(tmp_path: Path) -> None:
    reading = models.llava().read(f"{IMAGE} a cat", image=PICTURE)
    reading.save(tmp_path / "r.safetensors")
    again = hs.Reading.load(tmp_path / "r.safetensors")
    assert (again.pictures[0].pixels == PICTURE).all()
    for kind in reading.kinds:
        before, after = reading.part(kind).query.positions, again.part(kind).query.positions
        assert before is not None and after is not None
        assert np.array_equal(before.rectangles, after.rectangles, equal_nan=True)
        assert (before.kinds == after.kinds).all()


@pytest.mark.parametrize(
    ("make", "given", "told"),
    [
        (models.vit, {"text": "a cat", "image": PICTURE}, "read them apart"),
        (models.vit, {"image": [PICTURE, PICTURE]}, "one picture at a time"),
        (models.vit, {"audio": NOISE, "sampling_rate": 16000}, "takes no sound"),
        (models.vit, {}, "Give a text, or a picture"),
        (tiled.blip2_t5, {"text": "a cat", "image": PICTURE}, "an encoder and a decoder"),
        (models.wav2vec2, {"image": PICTURE}, "takes no pictures"),
        (models.wav2vec2, {"audio": NOISE}, "samples per second"),
        (models.wav2vec2, {"text": "a", "audio": NOISE, "sampling_rate": 16000}, "without text"),
    ],
)
def test_what_a_model_does_not_read_gets_one_sentence(
    make: Make, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(BadInput, match=told):
        make().read(**given)
