"""Word times by pocketsphinx: .wav files at 16 kHz with a .txt each become .ctm files beside them.

    python benchmarks/word_times.py FOLDER [--most SECONDS] [--least SECONDS]

The transcript is aligned by force with the package's own acoustic model. A recording with a word
that its dictionary lacks, or whose alignment fails, is named and gets no times.
"""

from __future__ import annotations

import argparse
import re
import wave
from pathlib import Path
from typing import Any


def words_of(text: str) -> list[str]:
    """Words as the dictionary spells them."""
    plain = text.lower().replace("’", "'").replace("-", " ").replace("—", " ")
    words = (re.sub(r"[^a-z']", "", word).strip("'") for word in plain.split())
    return [word for word in words if word]


def aligned(decoder: Any, sound: bytes, words: list[str]) -> list[tuple[str, float, float]]:
    """Each word with its start and end in seconds."""
    unknown = [word for word in words if decoder.lookup_word(word) is None]
    if unknown:
        raise ValueError(f"not in the dictionary: {', '.join(unknown)}")
    decoder.set_align_text(" ".join(words))
    decoder.start_utt()
    decoder.process_raw(sound, full_utt=True)
    decoder.end_utt()
    found = [
        (re.sub(r"\(\d+\)", "", one.word), one.start_frame / 100, (one.end_frame + 1) / 100)
        for one in decoder.seg()
        if one.word[0] not in "<[("
    ]
    if [word for word, _, _ in found] != words:
        raise ValueError(f"{len(found)} of {len(words)} words were aligned")
    return found


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
        lines = [f"{path.stem} 1 {a:.2f} {b - a:.2f} {word}\n" for word, a, b in found]
        path.with_suffix(".ctm").write_text("".join(lines), encoding="utf-8")
        seconds, number = seconds + lasts, number + 1
    print(f"{number} recordings of {seconds / 60:.1f} minutes aligned, {left_out} left out")


if __name__ == "__main__":
    main()
