"""The sound view's figure: python -m examples.sound_picture docs/images.

Needs espeak-ng and the Whisper of requirements/fetch_data.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import headscope as hs
from headscope.studies.whisper.ctranslate import ctranslate_whisper
from tests.reading.media.espeak import spoken

WHISPER = Path(sys.prefix) / "data" / "whisper-base"
SENTENCE = (
    "My neighbour keeps eleven chickens behind an old wooden fence and sells eggs every Saturday"
)


def main(folder: Path) -> None:
    sound, _ = spoken(SENTENCE)
    reading = ctranslate_whisper(WHISPER).read(f" {SENTENCE}", audio=sound)
    at = next(
        place for place, text in enumerate(reading.part("cross").query.labels) if "chick" in text
    )
    # the query before a word is the one that looks for it
    hs.sound_view(reading, layer=5, heads=[4], query=at - 1).save(folder / "sound-view.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
