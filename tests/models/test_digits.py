"""The small vision model that comes along: opened by name, and what it is said to do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import headscope as hs
from headscope.cli import build
from headscope.errors import BadInput
from training.vision.digits import draw


@pytest.fixture(scope="module")
def scope() -> hs.Scope:
    return hs.load("digits")


def test_it_opens_by_name_and_names_most_digits_right(scope: hs.Scope) -> None:
    import torch

    drawn = draw(200, seed=5, held_out=True)
    inputs = torch.from_numpy(drawn.pixels).permute(0, 3, 1, 2).float() / 127.5 - 1
    answers = scope.forward({"pixel_values": inputs}).logits.argmax(-1).numpy()
    assert scope.name == "digits"
    assert (answers == drawn.labels).mean() > 0.92


def test_a_folder_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "digits").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="holds no model"):
        hs.load("digits")


def test_the_class_token_looks_at_the_digit_more_than_chance(scope: hs.Scope) -> None:
    drawn = draw(40, seed=11, held_out=True)
    hits, chance = np.zeros((4, 4)), 0.0
    for pixels, (left, top, right, bottom) in zip(drawn.pixels, drawn.boxes, strict=True):
        reading = scope.read(image=pixels)
        positions = reading.part().key.positions
        assert positions is not None
        middle = (positions.rectangles[1:, :2] + positions.rectangles[1:, 2:]) / 2
        on = (
            (middle[:, 0] > left)
            & (middle[:, 0] < right)
            & (middle[:, 1] > top)
            & (middle[:, 1] < bottom)
        )
        strongest = reading.attention.values[:, :, 0, 1:].argsort(-1)[..., -8:]
        hits += on[strongest].mean(-1) / len(drawn.pixels)
        chance += on.mean() / len(drawn.pixels)
    assert (hits > chance + 0.15).all(), (hits, chance)


def test_the_command_reads_a_picture(tmp_path: Path) -> None:
    from PIL import Image

    Image.fromarray(draw(1, seed=3).pixels[0]).save(tmp_path / "digit.png")
    command = ["view", "--image", str(tmp_path / "digit.png"), "-m", "digits"]
    done = CliRunner().invoke(build(), [*command, "-o", str(tmp_path / "out.svg")])
    assert done.exit_code == 0, done.output
    assert "on the picture" in (tmp_path / "out.svg").read_text()
    assert "comes along" in CliRunner().invoke(build(), ["models"]).output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Give a text to read"),
        (["--image", "gone.png"], "no picture file at gone.png"),
        (["--audio", "gone.wav"], "no sound file at gone.wav"),
        (["--audio", "a.wav", "--image", "b.png"], "not both"),
        (["a text", "a pair", "--image", "b.png"], "one text"),
    ],
)
def test_misuse_gets_a_sentence_before_a_model_is_opened(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(build(), ["view", "-m", "digits", *arguments])
    assert done.exit_code != 0 and said in str(done.exception or done.output)
