"""A vision model in the page: pictures are decoded, resized and read there as in Python."""

from __future__ import annotations

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image

import headscope as hs
from headscope.views.shared.numbers import summary
from headscope.views.wire.container import Buffers
from headscope.views.wire.part import tokens_header
from tests.browser.live import Answered, ask
from tests.browser.test_live import opened
from tests.reading.media.vision_models import deit

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]
OFF = [("encoder", 0, 1), ("encoder", 1, 2)]


@pytest.fixture(scope="module", params=["digits", "deit"])
def scope(request):
    return hs.load("digits") if request.param == "digits" else deit()


@pytest.fixture(scope="module")
def page(chromium, scope, tmp_path_factory):
    pytest.importorskip("onnxscript")
    file = hs.live_page(scope, tmp_path_factory.mktemp("live") / "live.html", precision="single")
    page = opened(chromium, file.as_uri())
    yield page
    page.close()


def drawn(size: tuple[int, int], mode: str = "RGB") -> Image.Image:
    noise = np.random.default_rng(0).integers(0, 256, (size[1] // 5, size[0] // 5, 4), np.uint8)
    noise[..., 3] = np.where(noise[..., 3] > 128, 255, 0)
    return Image.fromarray(noise).resize(size, Image.Resampling.BICUBIC).convert(mode)


def file_of(image: Image.Image, kind: str) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind)
    return stream.getvalue()


FILES = {
    "large.png": file_of(drawn((640, 427)), "PNG"),
    "small.png": file_of(drawn((20, 15), "L"), "PNG"),
    "cut out.png": file_of(drawn((120, 90), "RGBA"), "PNG"),
    "photo.jpg": file_of(drawn((301, 200)), "JPEG"),
    "moving.gif": file_of(drawn((64, 48), "P"), "GIF"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("off", [(), OFF], ids=["every head", "heads off"])
def test_a_picture_is_read_as_in_python(page, scope, name, off):
    data = base64.b64encode(FILES[name]).decode()
    found = Answered(page, "", off=off, media="image", name=name, data=data)
    edited = scope.without(heads=[(layer, head) for _, layer, head in off]) if off else scope
    part = edited.read(image=Image.open(io.BytesIO(FILES[name]))).part()
    # a transparent edge, and a JPEG, may differ by one step of a colour
    close = 1e-5 if name in ("large.png", "small.png", "moving.gif") else 1e-3
    truth = np.stack([part.weights(number) for number in part.numbers])
    np.testing.assert_allclose(found.attention(), truth, atol=close)
    places = found.tokens.pop("places")
    expected = tokens_header(part.query, "", Buffers())
    assert found.tokens == {key: value for key, value in expected.items() if key != "places"}
    positions = part.query.positions
    assert found.array(places["kinds"]["buffer"]).tolist() == positions.kinds.tolist()
    rectangles = found.array(places["rectangles"]["buffer"])
    width, height = found.header["pictures"][0]["width"], found.header["pictures"][0]["height"]
    np.testing.assert_allclose(rectangles, positions.rectangles, atol=max(width, height) / 255)
    columns, numbers = found.columns(), summary(part)
    assert list(columns) == list(numbers)
    for measure, values in numbers.items():
        np.testing.assert_allclose(columns[measure], values, rtol=0.01, atol=2e-3, err_msg=measure)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"media": "image", "name": "a.png", "data": "AAAA"}, "is not a picture"),
        ({"media": "audio", "name": "a.wav", "data": "AAAA"}, "hears no sound"),
        ({"media": "example", "name": "../secret"}, "no such example"),
    ],
)
def test_what_is_no_picture_is_refused_in_a_sentence(page, body, sentence):
    status, data = ask(page, "api/media", {"model": "", "text": "", **body})
    assert status == 400
    assert sentence in json.loads(data)["error"]


def test_a_picture_is_chosen_shown_and_never_sent(page):
    before = page.locator(".app-view").screenshot()
    page.locator("[data-control=file]").set_input_files(
        {"name": "photo.jpg", "mimeType": "image/jpeg", "buffer": FILES["photo.jpg"]}
    )
    page.get_by_text("photo.jpg").first.wait_for()
    page.locator(".app-main[data-state=ready]").wait_for()
    assert page.locator("[role=alert]").count() == 0
    assert page.locator(".app-view").screenshot() != before
    assert all(url.startswith(("file:", "blob:")) for url in page.asked)
