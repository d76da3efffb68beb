"""The figures of the page Pictures and sound: python -m examples.media_pictures docs/images."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import headscope as hs
from headscope.media.picture import Picture
from headscope.surfaces.app.media import FOLDER
from training.vision.digits import draw

PICTURES = 200


def main(folder: Path) -> None:
    scope = hs.load("digits")
    reading = scope.read(image=FOLDER / "seven.png")
    hs.image_view(reading, layer=2, heads=[0, 1, 2, 3]).save(folder / "image-view.svg")
    hs.matrix_view(reading, layer=2, head=1).save(folder / "patches.png")
    drawn = draw(PICTURES, seed=23, held_out=True)
    survey = hs.survey(scope, [Picture(pixels) for pixels in drawn.pixels], progress=False)
    for layer, values in enumerate(survey.map("picture_distance")):
        print(f"layer {layer}: distance {values.mean():.1f} pixels", np.round(values, 1))
    readings = [scope.read(image=pixels) for pixels in drawn.pixels]
    found = hs.pointing_game(readings, drawn.boxes)
    for name in ("pointing_game", "object_iou", "object_share"):
        values, null = found.map(name), found.map(f"{name}:null")
        print(f"{name}: {values.min():.2f} to {values.max():.2f}, by chance {null.mean():.2f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
