"""Heads set by hand over a picture give exactly the map and the numbers expected of them."""

from __future__ import annotations

import os
import signal
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import headscope as hs
from headscope.errors import BadInput
from headscope.media.positions import PositionKind, Positions
from headscope.reading.inputs.processors import positioned_tokens
from headscope.statistics.of_media import media_values
from headscope.statistics.pointing import chance_of_overlap
from headscope.views.shared.numbers import table_of
from headscope.views.shared.on_media import drawing
from training.vision.digits import draw

SIDE, PATCH = 4, 10  # four by four patches of ten pixels, after a class token and a register
BOX = (20, 20, 40, 40)  # the four patches at the lower right


def _places() -> Positions:
    grid = np.array([(row, column) for row in range(SIDE) for column in range(SIDE)])
    corners = grid[:, ::-1] * PATCH
    rectangles = np.concatenate([corners, corners + PATCH], axis=1)
    extra = Positions.nowhere(np.array([PositionKind.CLASS, PositionKind.REGISTER], np.int8))
    return Positions.joined(extra, Positions.patches(rectangles.astype(np.float32), grid))


def _heads() -> np.ndarray:
    """Look one patch right, look at the class token, look at the object, look at all alike."""
    n = 2 + SIDE * SIDE
    heads = np.zeros((4, n, n), np.float32)
    for at in range(n):
        right = at + 1 if at >= 2 and (at - 2) % SIDE < SIDE - 1 else at
        heads[0, at, right] = 1
    heads[1, :, 0] = 1
    for row in (2, 3):
        for column in (2, 3):
            heads[2, :, 2 + row * SIDE + column] = 0.25
    heads[3] = 1 / n
    return heads


@pytest.fixture(scope="module")
def reading() -> hs.Reading:
    import dataclasses

    from headscope.media.picture import Picture

    made = hs.Reading.from_attention(_heads()[None, None], positioned_tokens(_places()))
    return dataclasses.replace(made, pictures=(Picture(np.zeros((40, 40, 3), np.uint8)),))


def test_a_planted_heads_map_is_exactly_what_was_planted(reading: hs.Reading) -> None:
    state = {"kind": "encoder", "layer": 0, "side": "query", "also": [], "query": 2 + 5}
    found = drawing(reading, {**state, "heads": [0, 2]}, (), "picture")
    (_, right), (_, on_object) = found.heads
    assert right[2 + 6] == 1 and right.sum() == 1
    assert np.flatnonzero(on_object).tolist() == [12, 13, 16, 17]


def test_planted_heads_have_exactly_their_numbers(reading: hs.Reading) -> None:
    values = {name: found[0] for name, found in media_values(reading.part()).items()}
    right, to_class, on_object, even = 0, 1, 2, 3
    moved = (SIDE - 1) / SIDE  # the last column has nothing to its right
    assert values["picture_distance"][right] == pytest.approx(moved * PATCH)
    assert values["picture_locality"][right] == 1 and values["picture_entropy"][right] == 0
    assert values["to_class_token"][to_class] == 1 and np.isnan(values["picture_distance"][1])
    assert values["to_registers"][to_class] == 0
    assert values["picture_entropy"][on_object] == pytest.approx(np.log(4))
    assert values["picture_entropy"][even] == pytest.approx(np.log(16))
    assert values["to_registers"][even] == pytest.approx(1 / 18)
    middles = [(row, column) for row in range(SIDE) for column in range(SIDE)]
    far = [np.hypot(a[0] - b[0], a[1] - b[1]) for a in middles for b in middles]
    assert values["picture_distance"][even] == pytest.approx(PATCH * np.mean(far))
    near = [max(abs(a[0] - b[0]), abs(a[1] - b[1])) <= 1 for a in middles for b in middles]
    assert values["picture_locality"][even] == pytest.approx(np.mean(near))
    assert "text_to_picture" not in values


def test_the_head_that_looks_at_the_object_wins_the_pointing_game(reading: hs.Reading) -> None:
    for where in ({"boxes": BOX}, {"masks": _mask()}):
        found = hs.pointing_game(reading, **where)
        assert found.map("pointing_game")[0, 2] == 1
        assert found.map("object_iou")[0][2] == 1 and found.map("object_share")[0][2] == 1
        assert found.map("object_share")[0][3] == pytest.approx(4 / 16)
        assert found.map("pointing_game:null")[0][0] == pytest.approx(4 / 16)
    assert found.top("object_iou", 1)["head"].tolist() == [2]


def _mask() -> np.ndarray:
    mask = np.zeros((40, 40), bool)
    mask[20:, 20:] = True
    return mask


def test_the_null_is_the_mean_over_all_draws() -> None:
    chosen = [set(one) for one in combinations(range(7), 3)]
    own = {0, 1, 2}
    mean = np.mean([len(own & one) / len(own | one) for one in chosen])
    assert chance_of_overlap(7, 3) == pytest.approx(mean)


@pytest.mark.parametrize(
    "given",
    [{}, {"boxes": BOX, "masks": _mask()}, {"boxes": (1, 2)}, {"masks": np.ones((3, 3))},
     {"boxes": (0, 0, 1, 1)}, {"boxes": BOX, "query": 99}],
)  # fmt: skip
def test_objects_that_cannot_be_get_a_sentence(reading: hs.Reading, given: dict) -> None:
    with pytest.raises(BadInput):
        hs.pointing_game(reading, **given)


def test_a_survey_of_a_folder_is_the_mean_of_its_readings(tmp_path: Path) -> None:
    scope, drawn = hs.load("digits"), draw(3, seed=2, held_out=True)
    for number, pixels in enumerate(drawn.pixels):
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
    survey = hs.survey(scope, tmp_path, progress=False, output=tmp_path / "s.parquet")
    distances = []
    for pixels in drawn.pixels:
        reading = scope.read(image=pixels)
        middle = np.array([(4 * c + 2, 4 * r + 2) for r in range(8) for c in range(8)])
        far = np.hypot(*(middle[:, None] - middle[None]).transpose(2, 0, 1))
        weights = reading.attention.values[:, :, 1:, 1:].astype(np.float64)
        distances.append((weights * far).sum(-1) / weights.sum(-1))
    direct = np.mean([one.mean(-1) for one in distances], axis=0)
    np.testing.assert_allclose(survey.map("picture_distance"), direct, rtol=1e-3)
    assert "picture_distance" in table_of(reading).columns
    assert hs.Survey.load(tmp_path / "s.parquet").measures == survey.measures
    with pytest.raises(BadInput, match="picture_distance"):
        hs.survey(scope, tmp_path, ["flower"], progress=False)


def test_words_that_look_at_the_picture_are_counted() -> None:
    from tests.reading.media import vision_models as models
    from tests.reading.media.vision_models import IMAGE

    picture = np.random.default_rng(0).integers(0, 256, (60, 60, 3), dtype=np.uint8)
    part = models.llava().read(f"{IMAGE} a red cat", image=picture).part("decoder")
    assert part.key.positions is not None
    words = np.flatnonzero(part.key.positions.kinds == PositionKind.WORD)
    patches = np.flatnonzero(part.key.positions.kinds == PositionKind.PATCH)
    expected = part.weights(1)[:, words][:, :, patches].sum(-1).mean(-1)
    np.testing.assert_allclose(media_values(part)["text_to_picture"][1], expected, atol=1e-5)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four digits; every picture is kept at once."""
    monkeypatch.setattr("headscope.runs.part.KEEP_EVERY", -1.0)
    monkeypatch.setattr("headscope.runs.part.SHARE", 0)
    for number, pixels in enumerate(draw(4, seed=4, held_out=True).pixels):
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
    return tmp_path


def _read_again(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Which pictures are read from now on."""
    read: list[object] = []
    plain = hs.Scope.read

    def noted(self: hs.Scope, *given: object, image: object = None, **more: object) -> hs.Reading:
        read.append(image)
        return plain(self, *given, image=image, **more)

    monkeypatch.setattr(hs.Scope, "read", noted)
    return read


@pytest.mark.parametrize("how", ["Ctrl-C", "a kill"])
def test_a_survey_of_pictures_goes_on_where_it_was_stopped(
    folder: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Two of four pictures are read by the first run, and the other two by the second."""
    scope = hs.load("digits")
    whole = hs.survey(scope, folder, progress=False)
    pid = os.fork() if how == "a kill" else 0
    if pid:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    else:
        seen = iter(range(2))

        def stop(_: object) -> None:
            if next(seen, None) == 1:
                if how == "a kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                raise KeyboardInterrupt

        with pytest.raises(hs.Stopped):
            hs.survey(scope, folder, progress=stop, output=folder / "s.parquet")
    read = _read_again(monkeypatch)
    found = hs.survey(scope, folder, progress=False, output=folder / "s.parquet")
    assert len(read) == 2
    pd.testing.assert_frame_equal(found.table, whole.table)


def test_a_picture_that_was_replaced_begins_another_survey(folder: Path) -> None:
    scope = hs.load("digits")

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(hs.Stopped):
        hs.survey(scope, folder, progress=stop, output=folder / "s.parquet")
    Image.fromarray(draw(1, seed=9).pixels[0]).save(folder / "0.png")
    with pytest.raises(BadInput, match="restart"):
        hs.survey(scope, folder, progress=False, output=folder / "s.parquet")
