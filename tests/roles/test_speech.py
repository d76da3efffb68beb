"""Speech: a head that attends where words are said times them, and no other does."""

from __future__ import annotations

import dataclasses
import json
import wave

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import BadInput
from headscope.roles.fields import SPEECH
from headscope.studies.whisper.study import every_head, ranking
from tests.reading.media.vision_models import whisper

# at the borders of moments, which last 0.02 s
TIMES = [("cat", 0.1, 0.3), ("dog", 0.4, 0.6), ("mat", 0.66, 0.96)]


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """Noise while a word is said, silence between; word times beside it."""
    folder = tmp_path_factory.mktemp("clips")
    generator = np.random.default_rng(0)
    for number in range(6):
        samples = np.zeros(16000)
        for _, start, end in TIMES:
            part = slice(int(start * 16000), int(end * 16000))
            samples[part] = 0.3 * generator.standard_normal(len(samples[part]))
        with wave.open(str(folder / f"{number}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(16000)
            file.writeframes((samples.clip(-1, 1) * 32767).astype("<i2").tobytes())
        words = "".join(f"{number} 1 {a} {b - a:.3f} {word}\n" for word, a, b in TIMES)
        (folder / f"{number}.ctm").write_text(words)
    (folder / "broken.wav").write_bytes(b"RIFF")
    (folder / "broken.ctm").write_text("x 1 0 1 cat\n")
    return folder


@pytest.fixture(scope="module")
def found(clips):
    torch.manual_seed(0)
    scope = whisper()

    def edit(call):
        """Head 1-2 attends, one position before each word, to the moments in which it is said."""
        if call.kind != "cross" or call.layer != 1:
            return None
        weights = call.weights.clone()
        moments = torch.arange(weights.shape[-1]) * 0.02 + 0.01
        for row, (_, start, end) in enumerate(TIMES):
            there = ((moments >= start) & (moments < end)).float()
            weights[:, 2, row] = there / there.sum()
        return weights

    planted = dataclasses.replace(scope, edits=(edit,))
    return hs.probe.speech(planted, clips, lists={"named": [(0, 0)]}, most_heads=2, progress=False)


def test_a_head_that_follows_the_words_is_first_and_times_them(found):
    best = found.top(n=1).iloc[0]
    assert (best["layer"], best["head"]) == (1, 2) and found.kind == "cross"
    assert best["value"] < 0.04  # seconds; a moment lasts 0.02, the median covers seven
    assert found.top(n=2)["value"].iloc[1] > 1.5 * best["value"]  # pauses alone bound any error
    assert found.map("auc query→target")[1, 2] > 0.99
    assert found.faults.counts["unreadable file"] == 1 and found.documents == 6


def test_time_errors_have_the_baseline_of_equally_long_tokens_and_no_p(found):
    rows = found.table[found.table["measure"].str.startswith("time error")]
    assert rows["p"].isna().all() and (rows["baseline"] > 0.04).all()
    even = np.linspace(0, 1, 5)  # four rows: three words, and the end
    apart = np.abs(np.stack([even[:3], even[1:4]], 1) - [one[1:] for one in TIMES])
    assert (rows["baseline"] < apart.mean() + 0.05).all()  # less where silence is cut off words


def test_lists_are_timed_beside_the_chosen_heads(found):
    rows = found.together.set_index("method")
    assert found.heads("best head") == [(1, 2)]
    assert rows.loc["best head", "value"] < rows.loc["named", "value"]


def test_the_heads_are_written_as_whisper_names_them(found, tmp_path):
    found.to_json(tmp_path / "heads.json", "best head")
    assert json.loads((tmp_path / "heads.json").read_text())["alignment_heads"] == [[1, 2]]


def test_words_are_drawn_over_the_spectrogram(found):
    assert found.draw(0).axes
    np.testing.assert_allclose(found.maps[0].times[:, :2], [one[1:] for one in TIMES], atol=1e-6)


def test_a_ranking_with_published_heads_first_has_an_auc_of_one(found):
    assert ranking(every_head(found, [(1, 2)]))["time error"] == 1.0


def test_a_model_without_sound_is_refused(clips, tiny_bert):
    with pytest.raises(BadInput):
        hs.probe.speech(tiny_bert, clips, progress=False)


def test_attention_is_standardised_as_in_whispers_own_timing():
    """Whisper's code cuts scores to the moments heard, takes their softmax, and standardises it."""
    scores = torch.randn(9, 20, generator=torch.Generator().manual_seed(0))  # tokens, moments
    theirs = scores[:, :12].softmax(-1)
    theirs = (theirs - theirs.mean(0)) / theirs.std(0, unbiased=False)
    heard = scores.softmax(-1)[:, :12]
    (ours,) = SPEECH.directed(heard, heard).values()
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
