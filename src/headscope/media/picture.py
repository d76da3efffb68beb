"""A picture as a person sees it: upright, eight bits a channel, on white where transparent."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput

MOST_PIXELS = 50_000_000  # decoded, a picture takes three bytes a pixel
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM")  # formats without code or links


@dataclass(frozen=True, eq=False)
class Picture:
    """The pixels and the name of one picture."""

    pixels: NDArray[np.uint8]  # rows columns 3
    name: str = ""

    @property
    def height(self) -> int:
        return int(self.pixels.shape[0])

    @property
    def width(self) -> int:
        return int(self.pixels.shape[1])

    def image(self) -> Any:
        """The same as a PIL image."""
        from PIL import Image

        return Image.fromarray(self.pixels)

    def encoded(self, longest: int = 1024) -> bytes:
        """A WebP of at most so many pixels a side, for pages."""
        image = self.image()
        image.thumbnail((longest, longest))
        stream = io.BytesIO()
        image.save(stream, "WEBP", quality=85)
        return stream.getvalue()


def open_picture(source: Any, name: str = "", most_pixels: int = MOST_PIXELS) -> Picture:
    """A path, the bytes of a file, a PIL image, or an array (rows × columns, × 1, 3 or 4)."""
    from PIL import Image

    if isinstance(source, Picture):
        return source
    if isinstance(source, Image.Image):
        return Picture(_upright(source, name or "The picture", most_pixels), name)
    if isinstance(source, (str, Path)):
        path = Path(source).expanduser()
        if not path.is_file():
            raise BadInput(f"There is no picture file at {source}; check the path.")
        return _decoded(path, str(source), name or path.name, most_pixels)
    if isinstance(source, (bytes, bytearray)):
        return _decoded(io.BytesIO(bytes(source)), name or "The picture", name, most_pixels)
    if hasattr(source, "__array__") or hasattr(source, "numpy"):
        return Picture(_from_array(source), name)
    raise BadInput(
        f"A picture cannot be made of {type(source).__name__}; "
        "give a path, a PIL image or an array."
    )


def _decoded(file: Any, told: str, name: str, most_pixels: int) -> Picture:
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the limit is ours
            with Image.open(file, formats=FORMATS) as image:
                return Picture(_upright(image, told, most_pixels), name)
    except UnidentifiedImageError as error:
        raise BadInput(
            f"{told} is not a picture that can be read here; "
            "give PNG, JPEG, WebP, GIF, BMP or TIFF."
        ) from error
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise BadInput(f"{told} is damaged or cut off ({error}); save or copy it again.") from error


def _upright(image: Any, told: str, most_pixels: int) -> NDArray[np.uint8]:
    from PIL import Image, ImageOps

    columns, rows = image.size
    _check_size(columns, rows, told, most_pixels)
    image = ImageOps.exif_transpose(image)
    if image.mode in ("I;16", "I;16B", "I;16L", "I", "F"):
        return _from_array(np.asarray(image))
    if image.mode in ("LA", "PA", "RGBA", "RGBa") or "transparency" in image.info:
        layer = image.convert("RGBA")
        white = Image.new("RGBA", layer.size, "white")
        image = Image.alpha_composite(white, layer)
    return np.asarray(image.convert("RGB"), dtype=np.uint8).copy()


def _check_size(columns: int, rows: int, told: str, most_pixels: int) -> None:
    if columns * rows > most_pixels:
        raise BadInput(
            f"{told} has {columns * rows / 1e6:.0f} million pixels; reduce it to at most "
            f"{most_pixels / 1e6:g} million pixels."
        )


def _from_array(source: Any) -> NDArray[np.uint8]:
    array = np.asarray(source)
    if array.ndim == 3 and array.shape[0] in (1, 3) and array.shape[2] not in (1, 3, 4):
        array = array.transpose(1, 2, 0)  # channels first, as torch has them
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in (1, 3, 4) or 0 in array.shape:
        raise BadInput(
            f"An array of shape {np.asarray(source).shape} is not a picture; give rows × "
            f"columns, or rows × columns × 3."
        )
    _check_size(array.shape[1], array.shape[0], "The picture", MOST_PIXELS)
    values = array.astype(np.float64)
    if not np.isfinite(values).all():
        raise BadInput("The picture holds NaN or infinite values; replace them first.")
    if array.dtype != np.uint8:
        values = values * (255 / _white(array))
    if array.shape[2] == 4:
        share = values[:, :, 3:] / 255
        values = values[:, :, :3] * share + 255 * (1 - share)
    values = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return np.repeat(values, 3, axis=2) if values.shape[2] == 1 else values


def _white(array: NDArray[Any]) -> float:
    """The value of white: 1 for shares, else by the range of the numbers."""
    most = float(array.max(initial=0))
    if array.dtype == np.bool_ or (array.dtype.kind == "f" and most <= 1):
        return 1.0
    return 255.0 if most <= 255 else 65535.0 if most <= 65535 else most
