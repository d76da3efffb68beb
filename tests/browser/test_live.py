"""The model in the page: from disk, without a network, equal to Python's."""

from __future__ import annotations

import base64
import functools
import http.server
import threading
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

import headscope as hs
from headscope.edits.live import effect
from headscope.surfaces.app import Models, create_app
from headscope.surfaces.app.writing import begin, described, go_on
from headscope.surfaces.tour import read_tour
from headscope.views.shared.numbers import summary
from headscope.views.wire.part import tokens_header
from tests.browser.live import Answered, ask, asked_json, generated, some_heads
from tests.browser.serving import served

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]
SERVED: list[str] = []  # what the folder's server was asked for
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


def test_tokens_attention_measures_and_predictions_equal_pythons(page, scope):
    """Its weights are held in 16 bits in the package too, so that nothing is lost in the page."""
    same_as_python(page, scope, generated(50))


def same_as_python(page, scope, texts) -> None:
    for number, (text, pair) in enumerate(texts):
        off = some_heads(number)
        edited = scope.without(heads=[(layer, head) for _, layer, head in off]) if off else scope
        found, part = Answered(page, text, pair, off), edited.read(text, pair).part()
        assert found.tokens == tokens_header(part.query, "", None), text
        truth = np.stack([part.weights(number) for number in part.numbers])
        np.testing.assert_allclose(found.attention(), truth, atol=1e-5)
        columns, numbers = found.columns(), summary(part)
        assert list(columns) == list(numbers)
        for name, values in numbers.items():
            np.testing.assert_allclose(columns[name], values, atol=2e-3, err_msg=name)
        if "[MASK]" in f"{text} {pair}":
            same_predictions(page, scope, found, (text, pair), off)


def same_predictions(page, scope, found, texts, off):
    said = asked_json(page, "api/predict", {"id": found.header["id"], "off": off})
    expected = effect(scope, *texts, off)
    for place, before, after in zip(said["places"], expected.before, expected.after, strict=True):
        for mine, its in ((place["before"], before), (place["after"], after)):
            assert [one["token"] for one in mine] == [one.token for one in its]
            shares = [one["probability"] for one in mine]
            np.testing.assert_allclose(shares, [one.probability for one in its], atol=2e-3)


def test_switched_off_heads_change_attention_and_prediction_as_in_python(page, scope):
    text = "She opened the [MASK] and walked into the [MASK]."
    found = Answered(page, text, off=OFF)
    part = scope.without(heads=[(layer, head) for _, layer, head in OFF]).read(text).part()
    truth = np.stack([part.weights(number) for number in part.numbers])
    np.testing.assert_allclose(found.attention(), truth, atol=1e-3)
    same_predictions(page, scope, found, (text, None), OFF)


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
        ({"text": "a", "edits": ["by.hand"]}, "by hand need Python"),
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


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("word " * 600, "This text has 613 tokens"), ("too large for the browser", "enough memory")],
)
def test_what_cannot_be_read_is_said_and_the_last_picture_stays(page, text, sentence):
    page.evaluate(SHORT_OF_MEMORY)
    page.locator("[data-control=text]").fill("The cat sat.")
    page.locator("[data-control=read]").click()
    page.locator(".app-view").get_by_text("cat", exact=True).first.wait_for()
    page.locator("[data-control=text]").fill(text)
    page.locator("[data-control=read]").click()
    page.locator("[data-kept] [role=alert]").get_by_text(sentence).wait_for()
    assert page.locator(".app-view").get_by_text("cat", exact=True).first.is_visible()
    page.locator("[data-control=text]").fill("The dog sat.")
    page.locator("[data-control=read]").click()
    page.locator(".app-view").get_by_text("dog", exact=True).first.wait_for()
    assert page.locator("[data-kept]").count() == 0


# a browser without memory cannot be had here: its worker's answer to one text is put in its place
SHORT_OF_MEMORY = """() => {
  const asked = headscopeEngine.fetch.bind(headscopeEngine);
  headscopeEngine.fetch = (path, init) =>
    path === "api/read" && init.body.includes("too large")
      ? Promise.resolve(Response.json({ error: "not enough memory" }, { status: 500 }))
      : asked(path, init);
}"""


SIZES = [(1440, 900), (1024, 768), (390, 844)]


@pytest.mark.parametrize("size", SIZES)
def test_the_tour_is_walked_by_keys_and_no_row_is_under_the_caption(chromium, file, size):
    page = opened(chromium, file.as_uri())
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    page.locator("[data-control=tour]").click()
    page.locator("[data-control=tour-show]").click()
    walk_the_tour(page)
    page.close()


def test_the_same_tour_opens_in_the_app(chromium):
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    with served(create_app(Models([]), tour=read_tour("bundled"))) as address:
        page.goto(address)
        walk_the_tour(page)
    page.close()


def walk_the_tour(page):
    """By keys from the first step on, and back; the last but one is reopened from its link."""
    steps = read_tour("bundled")
    caption = page.locator("[data-present]")
    for number, step in enumerate(steps):
        caption.get_by_text(step.text).wait_for(timeout=60_000)
        page.wait_for_url(f"**step={number}&**")
        page.locator(".app-main[data-state=ready]").wait_for()
        if number == 0:  # what the caption says of the guess is seen
            page.locator("[data-guess]", has_text="cat 47 % · dog 26 %").wait_for(timeout=60_000)
        if "view=head" in step.address:
            expect(page.locator("[data-side=key][data-unit]").last).to_be_in_viewport(ratio=0.9)
        page.keyboard.press("PageDown")
    page.keyboard.press("PageUp")
    assert "off=" in steps[-2].address
    for again in (False, True):
        if again:
            page.reload()
        caption.get_by_text(steps[-2].text).wait_for(timeout=60_000)
        page.get_by_text("cat 47 → 26 % · dog 26 → 34 %").wait_for(timeout=60_000)
        page.wait_for_url(f"**step={len(steps) - 2}&**")


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


@pytest.mark.parametrize(
    ("part", "old", "new", "sentence"),
    [
        ("known", b'"version": 1', b'"version": 2', "model has version 2; this script reads"),
        ("worker", b"", b"delete self.WebAssembly;", "This browser runs no WebAssembly"),
    ],
)
def test_a_page_that_cannot_run_says_why(chromium, file, tmp_path, part, old, new, sentence):
    text = file.read_text("utf-8")
    start = text.index(f'data-live="{part}">') + len(f'data-live="{part}">')
    end = text.index("<", start)
    content = zlib.decompress(base64.b64decode(text[start:end]), -15)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(content.replace(old, new, 1)) + packer.flush()
    changed = tmp_path / "changed.html"
    changed.write_text(text[:start] + base64.b64encode(packed).decode() + text[end:], "utf-8")
    page = chromium.new_page()
    page.goto(changed.as_uri())
    page.get_by_text(sentence).first.wait_for(timeout=120_000)
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
        def log_message(self, *told: object) -> None:
            SERVED.append(str(told[1]))

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=folder)
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def test_a_folder_is_kept_by_the_browser(chromium, address):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(address)
    page.locator(".app-view.hs-ready").wait_for(state="attached", timeout=120_000)
    ask(page, "api/tokens", {"model": "", "text": "a"})
    first = [line for line in SERVED if "/model-" in line]
    page.reload()
    page.locator(".app-view.hs-ready").wait_for(state="attached", timeout=120_000)
    ask(page, "api/tokens", {"model": "", "text": "a"})
    assert len(first) == 1
    assert [line for line in SERVED if "/model-" in line] == first
    context.close()


HALF_WAY = """Object.defineProperty(globalThis, "headscopeEngine", {
  get() { return this.given; },
  set(engine) {
    const asked = engine.fetch.bind(engine);
    const half = { doing: "loading the model: 1.0 of 2.0 MB", share: 0.5, failed: null };
    engine.fetch = (path, init) => path === "api/start" && !globalThis.arrived
      ? Promise.resolve(Response.json(half)) : asked(path, init);
    this.given = engine;
  },
})"""


def test_a_bar_shows_how_much_of_the_model_has_arrived(chromium, address):
    page = chromium.new_page()
    page.add_init_script(HALF_WAY)
    page.goto(address)
    bar = page.locator("[data-opening] meter")
    bar.wait_for(timeout=120_000)
    assert bar.get_attribute("value") == "0.5"
    page.evaluate("globalThis.arrived = true")
    page.locator("[data-opening]").wait_for(state="detached")
    page.close()


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
