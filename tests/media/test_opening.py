"""Whatever file a user hands over is a picture or a sound as a person takes it, or one sentence."""

from __future__ import annotations

import io
import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from headscope.errors import BadInput
from headscope.media.picture import open_picture
from headscope.media.sound import Sound, open_sound
from tests.media.odd_files import huge


def _jpeg(size: tuple[int, int] = (60, 40), **options: object) -> bytes:
    stream = io.BytesIO()
    gradient = np.linspace(0, 255, size[0] * size[1] * 3).reshape(size[1], size[0], 3)
    Image.fromarray(gradient.astype(np.uint8)).save(stream, "JPEG", **options)
    return stream.getvalue()


def test_a_photo_turned_by_its_camera_is_upright() -> None:
    turned = Image.Exif()
    turned[0x0112] = 6  # rotate by a quarter
    assert open_picture(_jpeg((60, 40), exif=turned)).pixels.shape == (60, 40, 3)


def test_what_is_transparent_is_white() -> None:
    clear = Image.new("RGBA", (4, 4), (255, 0, 0, 0))
    clear.putpixel((1, 1), (0, 0, 255, 255))
    pixels = open_picture(clear).pixels
    assert (pixels[0, 0] == 255).all() and tuple(pixels[1, 1]) == (0, 0, 255)


def test_sixteen_bits_of_grey_keep_their_range(tmp_path: Path) -> None:
    ramp = np.linspace(0, 65535, 64, dtype=np.uint16).reshape(8, 8)
    Image.fromarray(ramp).save(tmp_path / "grey.png")
    pixels = open_picture(tmp_path / "grey.png").pixels
    assert pixels[0, 0, 0] == 0 and pixels[-1, -1, 0] == 255
    assert np.all(np.diff(pixels[:, :, 0].ravel().astype(int)) >= 0)


def test_arrays_of_shares_bytes_and_channels_first_are_one_picture() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    for same in (picture, picture / 255, picture.transpose(2, 0, 1)):
        assert (open_picture(same).pixels == picture).all()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (_jpeg()[:400], "damaged or cut off"),
        (b"%PDF-1.7\n1 0 obj", "not a picture"),
        (b"", "not a picture"),
        (huge(), "100 million pixels"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not a picture"),
    ],
    ids=["a truncated JPEG", "a PDF", "nothing", "a bomb", "SVG"],
)
def test_a_bad_picture_gets_one_sentence(data: bytes, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        open_picture(data, "the.png")


@pytest.mark.parametrize("source", [None, 3, np.zeros((2, 2, 2, 2)), np.array([[np.nan]])])
def test_what_is_no_picture_is_refused(source: object) -> None:
    with pytest.raises(BadInput):
        open_picture(source)


def _wav(samples: np.ndarray, rate: int = 8000, channels: int = 1) -> bytes:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes())
    return stream.getvalue()


def test_a_sound_file_keeps_its_time_and_loudness() -> None:
    tone = np.sin(np.arange(8000) * 2 * np.pi * 440 / 8000)
    sound = open_sound(_wav(tone * 16384)).at(16000)
    assert sound.seconds == pytest.approx(1, abs=1e-3)
    spectrum = np.abs(np.fft.rfft(sound.samples))
    assert spectrum.argmax() * 16000 / len(sound.samples) == pytest.approx(440, abs=2)
    assert np.abs(sound.samples).max() == pytest.approx(0.5, abs=0.03)


def test_two_channels_are_mixed() -> None:
    both = np.stack([np.full(100, 8192), np.full(100, -8192)], axis=1)
    assert np.abs(open_sound(_wav(both.ravel(), channels=2)).samples).max() < 1e-4


def test_three_hours_of_sound_are_refused_before_they_are_read() -> None:
    long = Sound(np.zeros(1, np.float32), 1)
    with pytest.raises(BadInput, match="180 minutes"):
        open_sound(np.broadcast_to(long.samples, (3 * 3600 * 10,)), 10)


@pytest.mark.parametrize("data", [b"", b"RIFF1234WAVE", b"ID3\x03not really"])
def test_a_bad_sound_gets_one_sentence(data: bytes) -> None:
    with pytest.raises(BadInput, match="read"):
        open_sound(data, name="the.wav")
