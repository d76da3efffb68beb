"""The model in the page: from disk, without a network, equal to Python's."""

from __future__ import annotations

import functools
import http.server
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import headscope as hs
from headscope.edits.live import effect
from headscope.surfaces.app.writing import begin, described, go_on
from headscope.views.shared.numbers import summary
from headscope.views.wire.part import tokens_header
from tests.browser.live import Answered, ask, asked_json, generated

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]
MOST = 45_000_000  # bytes of the bundled model's page
OFF = [("encoder", 2, 2), ("encoder", 0, 1), ("encoder", 7, 3), ("encoder", 11, 0)]


@pytest.fixture(scope="module")
def scope():
    return hs.load()


@pytest.fixture(scope="module")
def file(scope, tmp_path_factory) -> Path:
    pytest.importorskip("onnxscript")
    return hs.live_page(scope, tmp_path_factory.mktemp("live") / "live.html")


def opened(chromium, address):
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(address)
    page.locator(".app-view.hs-ready").wait_for(state="attached", timeout=120_000)
    return page


@pytest.fixture(scope="module")
def page(chromium, file):
    page = opened(chromium, file.as_uri())
    yield page
    page.close()


def test_the_page_is_one_file_of_the_promised_size(file):
    assert file.stat().st_size <= MOST


def test_tokens_attention_and_measures_equal_pythons(page, scope):
    for text, pair in generated(50):
        found, part = Answered(page, text, pair), scope.read(text, pair).part()
        assert found.tokens == tokens_header(part.query, "", None), text
        truth = np.stack([part.weights(number) for number in part.numbers])
        np.testing.assert_allclose(found.attention(), truth, atol=1e-3)
        columns, numbers = found.columns(), summary(part)
        assert list(columns) == list(numbers)
        for name, values in numbers.items():
            np.testing.assert_allclose(columns[name], values, atol=2e-3, err_msg=name)


def test_switched_off_heads_change_attention_and_prediction_as_in_python(page, scope):
    text = "She opened the [MASK] and walked into the [MASK]."
    found = Answered(page, text, off=OFF)
    part = scope.without(heads=[(layer, head) for _, layer, head in OFF]).read(text).part()
    truth = np.stack([part.weights(number) for number in part.numbers])
    np.testing.assert_allclose(found.attention(), truth, atol=1e-3)
    said = asked_json(page, "api/predict", {"id": found.header["id"], "off": OFF})
    expected = effect(scope, text, None, OFF)
    for place, before, after in zip(said["places"], expected.before, expected.after, strict=True):
        for mine, its in ((place["before"], before), (place["after"], after)):
            assert [one["token"] for one in mine] == [one.token for one in its]
            shares = [one["probability"] for one in mine]
            np.testing.assert_allclose(shares, [one.probability for one in its], atol=2e-3)


def test_whether_a_sentence_follows_is_said_as_in_python(page, scope):
    found = Answered(page, "I went to the store.", "I bought fresh strawberries.")
    said = asked_json(page, "api/predict", {"id": found.header["id"], "off": []})
    truth = scope.next_sentence("I went to the store.", "I bought fresh strawberries.")
    follows = {one["token"]: one["probability"] for one in said["places"][0]["before"]}
    assert follows["follows"] == pytest.approx(truth, abs=2e-3)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"text": "  "}, "Type a sentence"),
        ({"text": "word " * 600}, "reads at most 512"),
        ({"text": "a", "off": [["encoder", 40, 1]]}, "There is no head 40-1"),
    ],
)
def test_bad_input_is_answered_in_a_sentence(page, body, sentence):
    status, data = ask(page, "api/read", {"model": "", **body})
    assert status in (400, 413)
    assert sentence in data.decode()


def test_a_text_that_is_too_long_is_cut_as_python_cuts_it(page, scope):
    text, pair = "one two three four " * 80, "five six seven " * 150
    status, data = ask(page, "api/tokens", {"model": "", "text": text, "text_pair": pair})
    assert status == 200 and b'"limit":512' in data
    found = Answered(page, text, pair, truncate=True)
    assert found.tokens["text"] == list(scope.read(text, pair, truncate=True).part().query.labels)


def test_what_is_typed_is_read_and_stands_in_the_link_and_nothing_is_sent(page):
    hostile = '<img src=x onerror="document.title=1"></script><script>alert(1)</script> cat'
    page.locator("[data-control=text]").fill(hostile)
    page.locator("[data-control=text-pair]").fill("")
    page.locator("[data-control=read]").click()
    page.locator(".app-main[data-state=ready]").wait_for()
    page.get_by_text("##ror").first.wait_for()
    page.wait_for_timeout(400)
    assert "#" in page.url and "onerror" in page.url and "?" not in page.url
    assert page.title() != "1"
    assert page.locator("img[src=x]").count() == 0
    assert all(url.startswith(("file:", "blob:")) for url in page.asked)


@pytest.mark.parametrize("view", ["model", "neuron", "matrix", "text", "head"])
def test_every_view_of_a_reading_opens(page, view):
    page.locator(f"[data-view={view}], [role=tab]:has-text('{view}')").first.click()
    page.wait_for_timeout(300)
    assert page.locator("[role=alert]").count() == 0


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_the_picture_is_saved_with_its_words(page, ending, tmp_path):
    page.locator("[data-control=text]").fill("I went to the store.")
    page.locator("[data-control=read]").click()
    page.get_by_text("store", exact=True).first.wait_for()
    page.locator("[data-view=head], [role=tab]:has-text('head')").first.click()
    page.locator("[data-control=export], button:has-text('export')").first.click()
    with page.expect_download() as saved:
        page.locator(f"[data-format={ending}]").click()
    path = tmp_path / saved.value.suggested_filename
    assert path.name.startswith("bundled-head-") and path.suffix == f".{ending}"
    saved.value.save_as(path)
    if ending == "svg":
        assert "foreignObject" in path.read_text() and ">store<" in path.read_text()
        return
    pixels = np.asarray(Image.open(path).convert("L"), np.float64)
    assert pixels.shape[0] > 600 and pixels.std() > 5  # not an empty sheet


def test_a_link_reopens_text_head_and_switched_off_heads(chromium, file):
    state = (
        "#text=The+cat+sat+on+the+%5BMASK%5D.&layer=3&head=1&heads=1&off=encoder.3.1&view=matrix"
    )
    page = opened(chromium, file.as_uri() + state)
    assert page.locator("[data-control=text]").input_value() == "The cat sat on the [MASK]."
    assert page.locator("[data-control=off]").is_checked()
    page.close()


def test_a_model_cut_short_is_said_in_a_sentence(chromium, file, tmp_path):
    text = file.read_text("utf-8")
    start = text.index('data-live="model">') + len('data-live="model">')
    broken = tmp_path / "broken.html"
    broken.write_text(text[:start] + text[start + 4000 :], "utf-8")
    page = chromium.new_page()
    page.goto(broken.as_uri())
    page.get_by_text("This page is damaged").first.wait_for(timeout=120_000)
    page.close()


@pytest.fixture(scope="module")
def writer(make_scope):
    return make_scope("LlamaForCausalLM", num_key_value_heads=2)


@pytest.fixture(scope="module")
def folder(writer, tmp_path_factory) -> Path:
    pytest.importorskip("onnxscript")
    folder = tmp_path_factory.mktemp("live") / "site"
    hs.live_page(writer, folder, precision="single")
    return folder


@pytest.fixture(scope="module")
def address(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=folder)
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def test_a_decoder_in_a_folder_reads_and_writes_as_in_python(chromium, address, writer):
    page = opened(chromium, address)
    found, part = Answered(page, "i went to the store"), writer.read("i went to the store").part()
    truth = np.stack([part.weights(number) for number in part.numbers])
    np.testing.assert_allclose(found.attention(), truth, atol=1e-5)
    columns, numbers = found.columns(), summary(part)
    assert list(columns) == list(numbers)
    for name, values in numbers.items():
        np.testing.assert_allclose(columns[name], values, atol=2e-3, err_msg=name)
    said = asked_json(page, "api/write", {"model": "", "text": "the cat sat", "count": 6})
    in_the_app = begin(writer, "", "the cat sat", ())
    go_on(writer, in_the_app, 6)
    its = described(writer, said["id"], in_the_app)
    assert {**said, "steps": []} == {**its, "steps": []}
    assert [step["token"] for step in said["steps"]] == [step["token"] for step in its["steps"]]
    assert all(url.startswith((address, "blob:")) for url in page.asked)
    page.close()
