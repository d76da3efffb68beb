"""Word times by pocketsphinx: .wav files at 16 kHz with a .txt each get a .json beside them.

    python benchmarks/word_times.py FOLDER [--most SECONDS] [--least SECONDS]

The transcript is aligned by force with the package's own acoustic model. Words keep their capitals
and their punctuation, and several spoken words in one, such as those of "re-enter", one time. A
digit is aligned as its name. A recording with a word that the dictionary lacks, such as a longer
number, or whose alignment fails, is named and gets none.
"""

from __future__ import annotations

import argparse
import json
import re
import wave
from pathlib import Path
from typing import Any

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def words_of(text: str) -> list[tuple[str, list[str]]]:
    """Words as they are written, each with those of the dictionary that it is spoken as."""
    found: list[tuple[str, list[str]]] = []
    for written in text.replace("’", "'").replace("—", " ").split():
        parts = [re.sub(r"[^a-z0-9']", "", part).strip("'") for part in written.lower().split("-")]
        spoken = [DIGITS[int(part)] if re.fullmatch("[0-9]", part) else part for part in parts]
        if any(spoken):
            found.append((written, [part for part in spoken if part]))
    return found


def aligned(
    decoder: Any, sound: bytes, written: list[tuple[str, list[str]]]
) -> list[tuple[str, float, float]]:
    """Each written word with its start and end in seconds."""
    words = [word for _, spoken in written for word in spoken]
    unknown = [word for word in words if decoder.lookup_word(word) is None]
    if unknown:
        raise ValueError(f"not in the dictionary: {', '.join(unknown)}")
    decoder.set_align_text(" ".join(words))
    decoder.start_utt()
    decoder.process_raw(sound, full_utt=True)
    decoder.end_utt()
    found = [
        (re.sub(r"\(\d+\)", "", one.word), one.start_frame / 100, (one.end_frame + 1) / 100)
        for one in decoder.seg() or ()  # None where alignment fails
        if one.word[0] not in "<[("
    ]
    if [word for word, _, _ in found] != words:
        raise ValueError(f"{len(found)} of {len(words)} words were aligned")
    times = iter((start, end) for _, start, end in found)
    spans = [(word, [next(times) for _ in spoken]) for word, spoken in written]
    return [(word, span[0][0], span[-1][1]) for word, span in spans]


def main() -> None:
    from pocketsphinx import Decoder  # pyright: ignore[reportMissingImports]

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--least", type=float, default=4.0, help="seconds of a recording")
    parser.add_argument("--most", type=float, default=28.0)
    given = parser.parse_args()
    decoder = Decoder(loglevel="FATAL")
    seconds, number, left_out = 0.0, 0, 0
    for path in sorted(given.folder.glob("*.wav")):
        with wave.open(str(path)) as file:
            lasts = file.getnframes() / file.getframerate()
            sound = file.readframes(file.getnframes())
        try:
            if not given.least <= lasts <= given.most:
                raise ValueError(f"it lasts {lasts:.1f} s")
            found = aligned(decoder, sound, words_of(path.with_suffix(".txt").read_text("utf-8")))
        except (ValueError, RuntimeError) as error:
            print(f"left out: {path.name}: {error}")
            left_out += 1
            continue
        times = [{"word": f" {word}", "start": a, "end": round(b, 2)} for word, a, b in found]
        whole = {"segments": [{"words": times}]}  # as Whisper writes them
        path.with_suffix(".json").write_text(json.dumps(whole), encoding="utf-8")
        seconds, number = seconds + lasts, number + 1
    print(f"{number} recordings of {seconds / 60:.1f} minutes aligned, {left_out} left out")


if __name__ == "__main__":
    main()
