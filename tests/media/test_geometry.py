"""A patch's rectangle is where the patch comes from: paint there, and that patch changes most."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import transformers
from numpy.typing import NDArray

from headscope.media.geometry import lay, patches_of_tile
from headscope.media.picture import Picture

transformers.logging.set_verbosity_error()
SIZES = [(60, 100), (120, 70), (64, 64)]
PROCESSORS = {
    "stretched (ViT)": lambda: transformers.ViTImageProcessor(size={"height": 64, "width": 64}),
    "centre crop (CLIP)": lambda: transformers.CLIPImageProcessor(
        size={"shortest_edge": 64}, crop_size={"height": 64, "width": 64}
    ),
    "larger, then cropped (DeiT)": lambda: transformers.DeiTImageProcessor(
        size={"height": 72, "width": 72}, crop_size={"height": 64, "width": 64}
    ),
    "tiles (LLaVA-NeXT)": lambda: transformers.LlavaNextImageProcessor(
        size={"shortest_edge": 64},
        crop_size={"height": 64, "width": 64},
        image_grid_pinpoints=[[64, 128], [128, 64], [128, 128]],
    ),
}


def _pixels(processor: Any, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    made = processor(images=Picture(pixels).image(), return_tensors="np")["pixel_values"]
    array = np.asarray(made, dtype=np.float64)
    return array[0] if array.ndim == 5 else array  # tiles 3 rows columns


@pytest.mark.parametrize("name", PROCESSORS)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[1]}×{size[0]}")
def test_painting_inside_a_rectangle_changes_that_patch_most(
    name: str, size: tuple[int, int]
) -> None:
    processor, (height, width) = PROCESSORS[name](), size
    blank = np.full((height, width, 3), 90, np.uint8)
    laid = lay(processor, Picture(blank))
    before = _pixels(processor, blank)
    assert len(laid.tiles) == len(before)
    checked = 0
    for number, tile in enumerate(laid.tiles):
        rectangles, grid = patches_of_tile(tile, 4, 4)
        for (left, top, right, bottom), (row, column) in zip(rectangles, grid, strict=True):
            inside = left >= 0 and top >= 0 and right <= width and bottom <= height
            if not inside or (row + column + number) % 3:
                continue
            painted = blank.copy()
            middle = (top + bottom) / 2, (left + right) / 2
            painted[int(middle[0]) - 1 : int(middle[0]) + 2, int(middle[1]) - 1 :][:, :3] = 255
            change = np.abs(_pixels(processor, painted) - before)[number].sum(0)
            down, across = np.unravel_index(change.argmax(), change.shape)
            step = change.shape[0] // 4
            assert (down // step, across // step) == (row, column)
            checked += 1
    assert checked >= 3


def test_patches_that_come_one_by_one_are_placed_by_what_they_show() -> None:
    processor = transformers.Qwen2VLImageProcessor(
        patch_size=8, merge_size=2, min_pixels=16 * 16, max_pixels=64 * 64
    )
    height, width = 48, 80
    blank = np.full((height, width, 3), 90, np.uint8)
    laid = lay(processor, Picture(blank))
    assert laid.rectangles is not None and laid.grid is not None
    before = processor(images=Picture(blank).image(), return_tensors="np")["pixel_values"]
    assert len(laid.rectangles) == len(before)
    for place in range(0, len(before), 5):
        left, top, right, bottom = laid.rectangles[place]
        painted = blank.copy()
        y, x = int((top + bottom) / 2), int((left + right) / 2)
        painted[y : y + 2, x : x + 2] = 255
        after = processor(images=Picture(painted).image(), return_tensors="np")["pixel_values"]
        assert np.abs(after - before).sum(axis=1).argmax() == place
    covered = (laid.rectangles[:, 2] - laid.rectangles[:, 0]) * (
        laid.rectangles[:, 3] - laid.rectangles[:, 1]
    )
    assert covered.sum() == pytest.approx(height * width, rel=0.02)
