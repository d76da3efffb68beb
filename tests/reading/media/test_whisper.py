"""A real Whisper over a recording whose times are known: words are heard where they were said."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
import headscope.reading.word_times as timing
from headscope.media.sound import Sound
from headscope.reading.word_times import spoken_tokens
from headscope.studies.whisper.ctranslate import ctranslate_whisper
from tests.reading.media.espeak import spoken

# two packages carry its parts; requirements/fetch_data.py unpacks them
FOLDER = Path(sys.prefix) / "data" / "whisper-base"
SENTENCES = (
    "The little yellow boat was sailing slowly across the river before evening",
    "My neighbour keeps eleven chickens behind an old wooden fence and sells eggs every Saturday",
    "Please remember that tomorrow morning we leave early because traffic gets heavy around nine",
)


@pytest.fixture(scope="module")
def scope() -> hs.Scope:
    if not FOLDER.is_dir():
        pytest.skip("needs Whisper: python requirements/fetch_data.py")
    return ctranslate_whisper(FOLDER)


def _spoken(sentence: str) -> tuple[Sound, list[float]]:
    try:
        return spoken(sentence)
    except OSError:
        pytest.skip("needs espeak-ng")


@pytest.fixture(scope="module")
def readings(scope: hs.Scope) -> list[tuple[hs.Reading, list[float]]]:
    made = []
    for sentence in SENTENCES:
        sound, starts = _spoken(sentence)
        made.append((scope.read(f" {sentence}", audio=sound), starts))
    return made


def _errors(readings: list[tuple[hs.Reading, list[float]]]) -> np.ndarray:
    found = []
    for sentence, (reading, starts) in zip(SENTENCES, readings, strict=True):
        times = hs.word_times(reading)
        assert [time.word.strip() for time in times] == sentence.split()
        found += [time.start - start for time, start in zip(times, starts, strict=True)]
    return np.array(found)


@pytest.mark.slow
def test_words_are_heard_when_they_were_said(
    readings: list[tuple[hs.Reading, list[float]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = _errors(readings)
    monkeypatch.setattr(timing, "pauses", lambda sound: np.zeros((0, 2)))
    with_pauses = np.abs(_errors(readings)).mean()
    mean, most = np.abs(errors).mean(), np.abs(errors).max()
    print(f"{len(errors)} words: mean error {mean:.3f} s, largest {most:.2f} s")
    print(f"{errors.mean():+.3f} s on the whole; pauses left with words: {with_pauses:.3f} s")
    assert mean < 0.1 and mean < with_pauses


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False], ids=["English is named", "language is found"])
def test_without_a_text_the_model_hears_the_words(scope: hs.Scope, named: bool) -> None:
    tokenizer = scope.tokenizer
    sound, _ = _spoken(SENTENCES[0])
    if not named:
        tokenizer.language = None
        languages = ("<|en|>", "<|de|>", "<|fr|>")
        ids = tokenizer.convert_tokens_to_ids(list(languages))
        scope.model.generation_config.lang_to_id = dict(zip(languages, ids, strict=True))
    try:
        part = scope.read(audio=sound).part("cross")
    finally:
        tokenizer.language = "en"
    begin = ("<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>")
    assert part.query.spellings[:4] == begin and part.query.spellings[-1] == "<|endoftext|>"
    heard = tokenizer.decode(part.query.ids[4:-1]).lower()
    print(heard)
    same = set(heard.strip(" .").split()) & set(SENTENCES[0].lower().split())
    assert len(same) >= 9, heard  # of eleven different words


@pytest.mark.slow
def test_cross_attention_follows_time(readings: list[tuple[hs.Reading, Any]]) -> None:
    from scipy.stats import spearmanr

    reading = readings[0][0]
    part, sound = reading.part("cross"), reading.sound
    assert part.key.positions is not None and isinstance(sound, Sound)
    seconds = part.key.positions.seconds[:, 0]
    heard = seconds < sound.seconds  # the rest of the half minute is silence put there
    words = spoken_tokens(part)
    follows = {
        (layer, head): spearmanr(
            words, seconds[part.head_weights(layer, head)[words][:, heard].argmax(-1)]
        ).statistic
        for layer in part.numbers
        for head in range(part.heads)
    }
    chosen = [tuple(one) for one in reading.metadata["alignment_heads"]]
    mean = np.nanmean([follows[one] for one in chosen])
    others = np.nanmean([value for one, value in follows.items() if one not in chosen])
    print(f"rank correlation with time: {mean:.2f} of alignment heads, {others:.2f} of others")
    assert mean > 0.6 and others < 0.3
