"""The sound view shades the spectrogram by the reading's own numbers, with words at their times."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import headscope as hs
from headscope.errors import BadInput
from headscope.figures.style import description
from headscope.media.sound import Sound
from headscope.views import discover
from headscope.views.wire.media import timed_words
from tests.reading.media import vision_models as models

TONES = np.sin(np.arange(12_800) ** 1.5 / 300).astype(np.float32) * 0.3
SOUND = Sound(TONES, 16_000, "tones.wav")


@pytest.fixture(scope="module")
def reading() -> hs.Reading:
    return models.whisper().read("a red cat sat", audio=SOUND)


def test_the_header_carries_the_spectrogram_and_the_words(reading: hs.Reading) -> None:
    header = json.loads(discover()["sound"].build(reading).header_json())
    assert header["sound"]["seconds"] == pytest.approx(0.8)
    words = header["sound"]["words"]
    assert "".join(word["text"] for word in words) == "aredcatsat"
    edges = [time for word in words for time in (word["start"], word["end"])]
    assert edges == sorted(edges) and edges[0] >= 0 and edges[-1] <= 0.8 + 1e-6
    assert header["state"]["kind"] == "cross"


@pytest.mark.parametrize("side", ["query", "key"])
def test_a_figure_shows_what_the_position_in_hand_gives_every_moment(
    reading: hs.Reading, side: str
) -> None:
    view = hs.sound_view(reading, layer=1, heads=[0, 3], kind="encoder", **{side: 7})
    told = description(view.figure())
    assert told is not None
    for at, head in enumerate((0, 3)):
        own = reading.encoder.sel(layer=1, head=head)
        expected = own[7] if side == "query" else own[:, 7]
        assert np.allclose(told["values"][at], expected, atol=1e-6)


def test_what_falls_on_the_sound_is_one_number_in_page_and_figure(reading: hs.Reading) -> None:
    """Many moments with very little each: the page's codes add up to the reading's weights."""
    from headscope.views.wire.layers import pack, plan_of
    from headscope.views.wire.packing import weight_codes

    part = reading.part("cross")
    little = np.full((2, len(part.query), len(part.key)), 4e-4, np.float32)
    little[:, :, 0] = 1 - little[:, :, 1:].sum(-1)
    part = _with_weights(reading, little).part("cross")
    packed = pack(part.layers[0], plan_of(part, neurons=False)).maps
    assert packed is not None and packed.scale is not None
    shown = weight_codes(part.weights(0), packed.scale) * packed.scale
    np.testing.assert_allclose(shown[:, :, 1:].sum(-1), little[:, :, 1:].sum(-1), atol=1e-3)


def test_a_saved_reading_keeps_its_sound_and_times(reading: hs.Reading, tmp_path: Path) -> None:
    reading.save(tmp_path / "r.safetensors")
    again = hs.Reading.load(tmp_path / "r.safetensors")
    assert timed_words(again) == timed_words(reading)
    hs.sound_view(again).save(tmp_path / "out.html")
    assert (tmp_path / "out.html").stat().st_size < 3e6


def test_named_heads_that_attend_in_order_give_the_times_they_attend_at() -> None:
    """Weights set by hand: token n looks at moment 10 n."""
    whole = models.whisper().read("a red cat sat", audio=SOUND)
    part = whole.part("cross")
    weights = np.full((1, len(part.query), len(part.key)), 1e-4, np.float32)
    content = np.flatnonzero(part.query.content)
    first = int(content[0])
    for at, token in enumerate(content):
        rows = token - 1 if first else token
        weights[0, rows, 8 * at : 8 * at + 8] = 0.1
    weights[0, content[-1], 8 * len(content) :] = 0.1
    planted = _with_weights(whole, weights)
    times = hs.word_times(planted, heads=[(0, 0)])
    assert [round(time.start / 0.02) for time in times] == [8 * at for at in range(len(times))]


def _with_weights(reading: hs.Reading, weights: np.ndarray) -> hs.Reading:
    import dataclasses

    part = reading.part("cross")
    made = hs.Reading.from_attention(
        encoder_attention=reading.encoder.values,
        decoder_attention=reading.decoder.values,
        cross_attention=np.repeat(weights[None], 1, 0),
        encoder_tokens=part.key,
        decoder_tokens=part.query,
    )
    return dataclasses.replace(made, sound=reading.sound)


@pytest.mark.parametrize("bad", [[(0, 9)], [(7, 0)], []])
def test_heads_that_are_not_there_get_a_sentence(
    reading: hs.Reading, bad: list[tuple[int, int]]
) -> None:
    with pytest.raises(BadInput):
        hs.word_times(reading, heads=bad)


def test_a_reading_without_a_sound_says_how_to_make_one(tiny_bert: hs.Scope) -> None:
    with pytest.raises(BadInput, match="audio="):
        hs.sound_view(tiny_bert.read("a cat")).figure()
    with pytest.raises(BadInput, match="audio="):
        hs.word_times(tiny_bert.read("a cat"))
