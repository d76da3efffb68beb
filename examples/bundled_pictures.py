"""The pictures of docs/understand/bundled-model.md: one head of the bundled model for each pattern.

python examples/bundled_pictures.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

import headscope as hs

COLOURS = 48
PAIR = ("I went to the store.", "At the store, I bought fresh strawberries.")
HEADS = {
    "next-word": (2, 2),
    "previous-word": (2, 6),
    "same-word": (2, 3),
    "other-sentence": (3, 0),
    "sibling-pieces": (9, 5),
    "delimiter": (1, 5),
    "bag-of-words": (0, 1),
    "punctuation": (8, 7),
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    reading = hs.load().read(*PAIR)
    for name, (layer, head) in HEADS.items():
        path = folder / f"bundled-{name}.png"
        hs.head_view(reading, layer=layer, heads=[head]).save(path)
        # few colours are enough for lines of one hue, and make a third of the size
        Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)
        print(f"-> {path} ({path.stat().st_size / 1e3:.0f} kB)")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/images"))
