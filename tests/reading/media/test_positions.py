"""Where a family's positions lie: paint a patch in the picture, and that position changes most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.capture import Call
from headscope.errors import BadInput
from headscope.media.positions import PositionKind, Positions
from headscope.reading.part import Part
from tests.reading.media import tiled_models as tiled
from tests.reading.media import vision_models as models
from tests.reading.media.vision_models import IMAGE

Make = Callable[[], hs.Scope]
ALONE = [models.vit, models.deit, models.dino, models.beit, models.clip, models.siglip, models.detr]
WITH_TEXT = [
    models.llava, models.gemma3, models.paligemma, models.qwen2_vl, models.qwen25_vl,
    tiled.blip2, tiled.internvl, tiled.idefics3,
]  # fmt: skip
SIZES = [(60, 100), (110, 64)]
TEXT = f"{IMAGE} a red cat"


def _name(make: Make) -> str:
    return make.__name__


def _sees(call: Call) -> bool:
    return call.kind == "encoder"


def _noise(height: int, width: int) -> Any:
    return np.random.default_rng(0).integers(60, 180, (height, width, 3), dtype=np.uint8)


def _painted(picture: Any, rectangle: Any) -> Any:
    """The inner half of a rectangle of the original picture, in colours nothing else has."""
    left, top, right, bottom = rectangle
    across, down = (right - left) / 4, (bottom - top) / 4
    made = picture.copy()
    rows = slice(round(top + down), max(round(bottom - down), round(top + down) + 1))
    made[rows, round(left + across) : max(round(right - across), round(left + across) + 1)] = 255
    return made


def _inside(rectangle: Any, height: int, width: int) -> bool:
    left, top, right, bottom = rectangle
    return bool(left > -1 and top > -1 and right < width + 1 and bottom < height + 1)


def _whole_ones(rectangles: Any) -> Any:
    """Not those at an edge that are smaller or larger: a detector's, which see padding as well."""
    sizes = rectangles[:, 2:] - rectangles[:, :2]
    return np.isclose(sizes, np.median(sizes, axis=0), rtol=0.05).all(axis=1)


def _of_first_layer(part: Part) -> Any:
    """h n d: before any attention, q is a function of a position's own content alone."""
    q = part.layers[0].q
    assert q is not None
    return np.asarray(q)


def _check(read: Callable[[Any], Part], height: int, width: int, seen: Any, every: int = 4) -> None:
    picture = _noise(height, width)
    part = read(picture)
    before, positions = seen(part), part.key.positions
    assert positions is not None
    patches = np.flatnonzero(positions.kinds == PositionKind.PATCH)
    checked = 0
    whole = patches[_whole_ones(positions.rectangles[patches])]
    for place in whole[1 if len(whole) > 4 else 0 :: every]:
        if not _inside(positions.rectangles[place], height, width):
            continue
        left, top, right, bottom = positions.rectangles[place]
        after = seen(read(_painted(picture, positions.rectangles[place])))
        change = np.abs(after - before).sum(axis=(0, 2))[patches]
        found = positions.rectangles[patches[change.argmax()]]
        middle = (left + right) / 2, (top + bottom) / 2
        assert found[0] < middle[0] < found[2] and found[1] < middle[1] < found[3], place
        checked += 1
    assert checked >= max(1, min(3, len(whole) // every))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[1]}×{size[0]}")
@pytest.mark.parametrize("make", ALONE, ids=_name)
def test_a_patch_of_a_tower_is_where_its_rectangle_says(make: Make, size: tuple[int, int]) -> None:
    scope = make()
    _check(lambda picture: scope.read(image=picture, keep=("q",)).part("encoder"), *size,
           seen=_of_first_layer)  # fmt: skip


@pytest.mark.parametrize("make", WITH_TEXT, ids=_name)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[1]}×{size[0]}")
def test_a_token_for_a_piece_of_a_picture_is_where_its_rectangle_says(
    make: Make, size: tuple[int, int]
) -> None:
    """The tower's heads are silenced, so that a token is made of its own patches alone."""
    scope, kind = make(), "decoder"
    if make is tiled.blip2:
        kind = "encoder"  # its tokens are queries, not patches
    else:
        scope = scope.edited(lambda call: torch.zeros_like(call.weights) if _sees(call) else None)
    _check(lambda picture: scope.read(TEXT, image=picture, keep=("q",)).part(kind), *size,
           seen=_of_first_layer)  # fmt: skip


@pytest.mark.parametrize("layer", [0, 1], ids=["windows", "shifted windows"])
def test_windows_are_put_back_where_they_were_cut_from(layer: int) -> None:
    scope = models.swin()

    def seen(part: Part) -> Any:
        weights = np.asarray(part.weights(layer), np.float64)
        # what a patch looks at, and how it is looked at, change when it does
        return np.concatenate([weights, weights.transpose(0, 2, 1)], axis=2)

    _check(lambda picture: scope.read(image=picture).part("encoder"), 60, 100, seen, every=9)


def test_swins_maps_are_its_own_window_by_window() -> None:
    """Against the model's own attentions, cell by cell: rows and columns counted by hand."""
    scope = models.swin()
    reading = scope.read(image=_noise(60, 100))
    scope.model.set_attn_implementation("eager")
    processor: Any = scope.processor
    given = processor(images=_noise(60, 100), return_tensors="pt")
    own: list[Any] = []
    layers = [module for module in scope.model.modules() if hasattr(module, "shift_size")]
    hooks = [one.attention.register_forward_hook(lambda *a: own.append(a[2][1])) for one in layers]
    with torch.no_grad():
        scope.model(**given)
    for hook in hooks:
        hook.remove()
    assert [layer.shift_size for layer in layers] == [0, 2, 0, 0]
    for number, (layer, windows) in enumerate(zip(layers, own, strict=True)):
        block = 1 if number < 2 else 2  # patches of the finest layer to a side of one of this
        found, rows = np.asarray(reading.part().weights(number)), 8 // block
        expected = np.zeros_like(found)

        def at(window: int, place: int, rows: int = rows, layer: Any = layer) -> tuple[int, int]:
            side = layer.window_size
            row = window // (rows // side) * side + place // side
            column = window % (rows // side) * side + place % side
            return (row + layer.shift_size) % rows, (column + layer.shift_size) % rows

        for window, query, key in np.ndindex(windows.shape[0], *windows.shape[2:]):
            (top, left), (down, across) = at(window, query), at(window, key)
            shared = windows[window, :, query, key].numpy() / block**2
            for a, b, c, d in np.ndindex(block, block, block, block):
                one = (top * block + a) * 8 + left * block + b
                other = (down * block + c) * 8 + across * block + d
                expected[:, one, other] = shared
        np.testing.assert_allclose(found, expected, atol=1e-5)
        np.testing.assert_allclose(found.sum(-1), 1, atol=1e-5)


def test_a_stage_read_by_itself_has_its_own_patches() -> None:
    part = models.swin().read(image=_noise(60, 100), layers=[2, 3]).part()
    assert len(part.key) == 16 and part.numbers == (2, 3)
    assert part.why_no_qk is not None and "windows" in part.why_no_qk


def test_windows_that_padding_fills_are_refused() -> None:
    scope = models.swin()
    scope.processor.size = {"height": 40, "width": 40}
    with pytest.raises(BadInput, match="do not fill its windows of 4 × 4"):
        scope.read(image=_noise(60, 100))


def test_tiles_whose_tokens_are_rearranged_are_refused() -> None:
    with pytest.raises(BadInput, match="into 5 tiles, and the 52 tokens"):
        tiled.llava_next().read(TEXT, image=_noise(60, 100))


def test_tiles_lie_over_the_whole_picture_and_the_whole_over_them() -> None:
    positions = tiled.idefics3().read(TEXT, image=_noise(60, 100)).part("decoder").key.positions
    assert isinstance(positions, Positions)
    patches = positions.rectangles[positions.kinds == PositionKind.PATCH]
    areas = (patches[:, 2] - patches[:, 0]) * (patches[:, 3] - patches[:, 1])
    assert areas.sum() == pytest.approx(2 * 60 * 100, rel=0.05)  # four tiles, then the whole


def test_several_pictures_are_told_apart() -> None:
    scope = models.llava()
    one, other = _noise(60, 100), _noise(64, 64)
    scope.processor._count = lambda made: 32
    reading = scope.read(TEXT, image=[one, other])
    positions = reading.part("decoder").key.positions
    assert positions is not None and reading.kinds == ("decoder",)
    assert positions.pictures[positions.kinds == PositionKind.PATCH].tolist() == [0] * 16 + [1] * 16
    assert "2 pictures apart" in reading.metadata["left_out"][0]


def test_learned_queries_look_at_the_patches_of_the_tower() -> None:
    reading = tiled.blip2().read(TEXT, image=_noise(60, 100))
    part = reading.part("cross")
    assert part.query.labels[:2] == ("[QUERY1]", "[QUERY2]") and len(part.query) == tiled.QUERIES
    assert part.key.positions is not None
    assert (part.key.positions.kinds == PositionKind.PATCH).sum() == 16
    assert hs.image_view(reading).state["kind"] == "cross"
