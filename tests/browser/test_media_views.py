"""Pictures and sounds in the browser: shaded, held, walked, within their budget."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.surfaces.app.media import FOLDER
from tests.browser.test_walk import PAGE_HOST, Walker
from tests.reading.media import vision_models as models
from tests.views.test_sound import SOUND

pytestmark = pytest.mark.browser
MEAN = """canvas => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const sum = at => data.reduce((sum, value, i) => sum + (i % 4 === at ? value : 0), 0);
  return [0, 1, 2].map(at => sum(at) * 4 / data.length);
}"""


def digit() -> hs.Reading:
    return hs.load("digits").read(image=FOLDER / "seven.png")


def test_a_patch_is_held_and_its_strongest_weight_is_the_readings(show):
    reading = digit()
    view = hs.image_view(reading, layer=2, heads=[1])
    assert len(view.html()) < 2_000_000
    seen = show(view)
    page = seen.page
    caption = page.locator(".im-panel figcaption")
    own = reading.attention.sel(layer=2, head=1).values
    assert f"{own[0, 1:].max():.3f}" in caption.inner_text()
    box = page.locator(".im-panel canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.06, box["y"] + box["height"] * 0.06)
    page.evaluate(f"{PAGE_HOST}.headscope.painted()")
    assert f"{own[1, 1:].max():.3f}" in caption.inner_text()
    assert seen.errors == [] and not [url for url in seen.requests if url.startswith("http")]


def test_a_word_over_the_sound_is_taken_in_hand(show):
    reading = models.whisper().read("a red cat sat", audio=SOUND)
    seen = show(hs.sound_view(reading, layer=1, heads=[0, 2]))
    page = seen.page
    words = page.locator(".sd-lane button")
    assert words.all_inner_texts() == ["a", "red", "cat", "sat"]
    words.nth(1).evaluate("word => word.click()")  # without training words may have no width
    page.evaluate(f"{PAGE_HOST}.headscope.painted()")
    token = int(words.nth(1).get_attribute("data-at"))
    strongest = np.asarray(reading.cross.sel(layer=1, head=0))[token, :40].max()
    assert f"{strongest:.3f}" in page.locator(".im-panel figcaption").first.inner_text()
    assert page.locator(".sd-axis").count() == 2
    assert seen.errors == []


def test_a_page_with_a_picture_is_walked(show):
    seen = show(hs.image_view(digit(), layer=1, heads=[0]))
    walker = Walker(seen.page, PAGE_HOST)
    walker.everywhere(schemes=("light",))
    assert "image" in walker.ask(f"headscopeWalk.tabs({PAGE_HOST})")


def test_a_patch_in_a_tooltip_is_seen_as_it_is_in_the_picture(show):
    """Hover a patch in the head view: the crop beside its name has the picture's own colours."""
    reading = digit()
    seen = show(hs.head_view(reading, layer=1, heads=[0]))
    page = seen.page
    page.locator('[data-side="query"][data-token="20"]').hover()
    crop = page.locator(f".tooltip .crops canvas[data-drawn='{20}']").first
    crop.wait_for()
    drawn = crop.evaluate("c => Array.from(c.getContext('2d').getImageData(0, 0, 40, 40).data)")
    shown = np.array(drawn, float).reshape(40, 40, 4)[:, :, :3].mean((0, 1))
    left, top, right, bottom = reading.part().query.positions.rectangles[20].round().astype(int)
    own = reading.pictures[0].pixels[top:bottom, left:right].mean((0, 1))
    assert np.abs(shown - own).max() < 20  # the page's picture is a WebP
    assert seen.errors == []


def test_patches_are_seen_beside_their_names(show):
    """Crops have the colours of the picture; what lies in no picture has none."""
    reading = digit()
    seen = show(hs.head_view(reading, layer=1, heads=[0]))
    page = seen.page
    beside = page.locator('[data-side="key"][data-token="3"] canvas')
    beside.wait_for()
    left, top, right, bottom = reading.part().query.positions.rectangles[3].round().astype(int)
    own = reading.pictures[0].pixels[top:bottom, left:right].mean((0, 1))
    assert np.abs(np.array(beside.evaluate(MEAN)) - own).max() < 20
    assert page.locator('[data-side="key"][data-token="0"] canvas').count() == 0  # [CLS]
    assert seen.errors == []
