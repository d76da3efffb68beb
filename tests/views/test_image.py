"""The image view shades the picture by the reading's own numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

import headscope as hs
from headscope.errors import BadInput
from headscope.figures.style import description
from headscope.views import discover
from tests.reading.media import vision_models as models
from tests.reading.media.vision_models import IMAGE

PICTURE = np.random.default_rng(0).integers(0, 256, (60, 100, 3), dtype=np.uint8)


def test_the_header_carries_the_picture_and_where_positions_lie() -> None:
    data = discover()["image"].build(models.vit().read(image=PICTURE))
    header = json.loads(data.header_json())
    assert header["pictures"][0] | {"buffer": "picture0"} == header["pictures"][0]
    assert (header["pictures"][0]["width"], header["pictures"][0]["height"]) == (100, 60)
    assert header["state"]["query"] == 0  # the class token
    assert set(header["parts"][0]["query"]["places"]) >= {"kinds", "rectangles"}


def test_heads_over_patches_are_not_named_after_words() -> None:
    data = hs.head_view(models.vit(2).read(image=PICTURE)).data
    assert data.header["parts"][0]["labels"] == []


@pytest.mark.parametrize("make", [hs.head_view, hs.matrix_view], ids=["head", "matrix"])
def test_a_figure_of_patches_shows_them_beside_their_names(make) -> None:
    """The middle of every crop is the picture's own pixel; the class token has none."""
    reading = models.vit(3).read(image=PICTURE)
    figure = make(reading, 1).figure()
    found = [strip for axes in figure.axes for strip in axes.child_axes]
    query, key = (np.asarray(strip.images[0].get_array()) for strip in found)
    key = key if key.shape[1] == query.shape[1] else key.swapaxes(0, 1)
    positions = reading.part().query.positions
    assert positions is not None
    for at, (left, top, right, bottom) in enumerate(positions.rectangles):
        for strip in (query, key):
            side = strip.shape[1]
            pixel = strip[at * side + side // 2, side // 2]
            if positions.pictures[at] < 0:
                assert pixel[3] == 0
            else:
                middle = (top + bottom) / 2, (left + right) / 2
                around = PICTURE[tuple(slice(int(v) - 1, int(v) + 3) for v in middle)]
                assert (around.reshape(-1, 3) == pixel[:3]).all(axis=1).any()


@pytest.mark.parametrize("side", ["query", "key"])
def test_a_figure_shows_what_the_position_in_hand_gives_every_patch(side: str) -> None:
    reading = models.vit().read(image=PICTURE)
    view = hs.image_view(reading, layer=1, heads=[2, 3], **{side: 5})
    told = description(view.figure())
    assert told is not None
    for at, head in enumerate((2, 3)):
        own = reading.attention.sel(layer=1, head=head)
        expected = own[5] if side == "query" else own[:, 5]
        assert np.allclose(told["values"][at], expected, atol=1e-6)
    assert told["hand"] == [5] and told["side"] == side and told["heads"] == [2, 3]


def test_a_text_about_a_picture_opens_on_its_last_word() -> None:
    reading = models.llava().read(f"{IMAGE} a red cat", image=PICTURE)
    state = discover()["image"].build(reading).header["state"]
    assert reading.part("decoder").query.labels[state["query"]] == "cat"


def test_a_reading_without_a_picture_says_how_to_make_one(tiny_bert: hs.Scope) -> None:
    with pytest.raises(BadInput, match="image="):
        hs.image_view(tiny_bert.read("a cat")).figure()
