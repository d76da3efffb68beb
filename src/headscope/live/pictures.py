"""A live page's processing of a picture, and the regions of its patches."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.media.geometry import image_processor_of
from headscope.media.picture import Picture, open_picture
from headscope.reading import Scope
from headscope.reading.inputs.processors import processor_of
from headscope.surfaces.app.media import FOLDER, MOST_PIXELS, for_page
from headscope.views.wire.container import Buffers
from headscope.views.wire.part import tokens_header

RESAMPLING = (1, 2, 3)  # of PIL: Lanczos, bilinear, bicubic
FIRST = "seven.png"


def examples() -> list[dict[str, str]]:
    return [one for one in for_page() if one["kind"] == "image"]


def of_pictures(scope: Scope) -> dict[str, Any]:
    """The steps that web/src/live/pictures.ts takes, the positions, and the example pictures."""
    picture = open_picture(FOLDER / FIRST)
    query = scope.read(image=picture).part().query
    assert query.positions is not None
    sides = np.array([picture.width, picture.height] * 2)
    return {
        "steps": steps(scope),
        "tokens": tokens_header(query, "", Buffers()) | {"places": None},
        "kinds": query.positions.kinds.tolist(),
        "rectangles": [  # as shares of the picture; none for positions without a region
            None if np.isnan(one).any() else one.tolist()
            for one in query.positions.rectangles / sides
        ],
        "most_pixels": MOST_PIXELS,
        "examples": {
            one["name"]: base64.b64encode((FOLDER / one["name"]).read_bytes()).decode()
            for one in examples()
        },
    }


def steps(scope: Scope) -> dict[str, Any]:
    """Resize, crop to the centre, scale; a processor with other steps raises an error."""
    processor: Any = image_processor_of(processor_of(scope, "pictures"))
    picture = open_picture(FOLDER / FIRST)
    try:
        found = _steps(processor)
        expected = np.asarray(
            processor(images=picture.image(), return_tensors="np")["pixel_values"]
        )
        same = np.allclose(_taken(found, picture), expected[0], atol=1e-3)
    except (AttributeError, KeyError, TypeError, ValueError):
        found, same = {}, False
    if not same:
        raise BadInput(
            f"The picture processor of {scope.name} does more than a live page can: resize to a "
            "fixed size, cut out the middle, and scale the colours. Use headscope app for it."
        )
    return found


def _steps(processor: Any) -> dict[str, Any]:
    size = [int(processor.size["height"]), int(processor.size["width"])]
    crop = getattr(processor, "crop_size", None) if _does(processor, "center_crop") else None
    if int(processor.resample) not in RESAMPLING or not _does(processor, "resize"):
        raise ValueError
    factor = float(processor.rescale_factor) if _does(processor, "rescale") else 1.0
    normalised = _does(processor, "normalize")
    return {
        "size": size,
        "resample": int(processor.resample),
        "crop": size if crop is None else [int(crop["height"]), int(crop["width"])],
        "factor": factor,
        "mean": list(processor.image_mean) if normalised else [0.0] * 3,
        "std": list(processor.image_std) if normalised else [1.0] * 3,
    }


def _does(processor: Any, what: str) -> bool:
    return bool(getattr(processor, f"do_{what}", False))


def _taken(found: dict[str, Any], picture: Picture) -> NDArray[np.floating]:
    """The same steps by PIL."""
    (height, width), (rows, columns) = found["size"], found["crop"]
    image = picture.image().resize((width, height), found["resample"])
    top, left = (height - rows) // 2, (width - columns) // 2
    pixels = np.asarray(image, np.float64)[top : top + rows, left : left + columns]
    scaled = (pixels * found["factor"] - found["mean"]) / found["std"]
    return scaled.transpose(2, 0, 1)
