"""The live widget's two halves together: the kernel's answers in, the user's selection out."""

from __future__ import annotations

import base64

import pytest

import headscope as hs
from tests.browser.looking import until

pytestmark = pytest.mark.browser
PAIR = ("the cat sat on the mat", "a dog ran")

# What a notebook gives a widget: traits, their changes, and messages to the kernel and back.
PAGE = """<!doctype html><div id="cell"></div><script type="module">
import widget from '/headscope.js';
const bytes = text => new DataView(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
const traits = {container: bytes(await kernel('container')), state: await kernel('state')};
const listeners = {};
const tell = (name, ...args) => (listeners[name] ?? []).forEach(listener => listener(...args));
const model = {
  get: name => traits[name],
  set: (name, value) => { traits[name] = value; tell('change:' + name); },
  save_changes: () => kernel('save', traits.state),
  on: (name, listener) => (listeners[name] ??= []).push(listener),
  off: (name, listener) => listeners[name] = listeners[name].filter(each => each !== listener),
  send: async message => {
    const {content, buffers} = await kernel('message', message);
    tell('msg:custom', content, buffers.map(bytes));
  },
};
globalThis.model = model;
globalThis.stop = widget.render({model, el: document.getElementById('cell')});
</script>"""


def shown(new_page, widget):
    saved: list[dict] = []

    def kernel(name, value=None):
        if name == "container":
            return base64.b64encode(widget.container).decode()
        if name == "state":
            return dict(widget.state)
        if name == "save":
            saved.append(value)
            return None
        sent: list[tuple] = []
        widget.send = lambda content, buffers=None: sent.append((content, buffers or []))
        widget._answer(widget, value, [])
        [(content, buffers)] = sent
        return {"content": content, "buffers": [base64.b64encode(b).decode() for b in buffers]}

    page = new_page()
    page.expose_function("kernel", kernel)
    page.route(
        "http://notebook/**",
        lambda route: (
            route.fulfill(body=str(widget._esm), content_type="text/javascript")
            if route.request.url.endswith(".js")
            else route.fulfill(body=PAGE, content_type="text/html")
        ),
    )
    page.goto("http://notebook/")
    page.locator("#cell.hs-ready").wait_for()
    return page, saved


def test_a_click_reaches_python_and_python_s_choice_the_page(new_page, tiny_bert):
    view = hs.head_view(tiny_bert.read(*PAIR), layer=1, heads=[0], labels=())
    page, saved = shown(new_page, view.widget())
    page.locator('[data-side="query"][data-token="2"]').click()
    page.locator('button.chip[data-head="3"]').click()
    chosen = {"query": 2, "heads": [0, 3]}  # a message takes its time to Python
    assert until(page, lambda: chosen.items() <= saved[-1].items()), saved[-1]
    page.evaluate("model.set('state', {heads: [1], query: null})")
    assert page.locator("#cell").evaluate("cell => cell.headscope.state.heads") == [1]


def test_a_layer_that_was_not_sent_is_fetched_and_right(new_page, tiny_bert):
    reading = tiny_bert.read(*PAIR)
    page, _ = shown(new_page, hs.head_view(reading, layer=1, heads=[0], labels=()).widget())
    page.keyboard.press("ArrowUp")
    page.locator("#cell").evaluate("cell => cell.headscope.painted()")
    found = page.locator("#cell").evaluate("cell => cell.headscope.weight('encoder', 0, 2, 4, 3)")
    assert abs(found - float(reading.part().weights(0)[2, 4, 3])) <= 1e-3


def test_a_widget_that_is_closed_leaves_nothing_behind(new_page, tiny_bert):
    page, saved = shown(new_page, hs.head_view(tiny_bert.read(*PAIR), labels=()).widget())
    page.evaluate("stop()")
    page.evaluate("kernel('state')")  # answered after all that was said before it
    before = len(saved)
    page.evaluate("model.set('state', {layer: 0})")
    assert page.locator("#cell").evaluate("cell => cell.headscope") is None
    page.evaluate("kernel('state')")
    assert len(saved) == before


def test_a_view_of_a_further_script_brings_it_along(new_page, tiny_bert):
    page, _ = shown(new_page, hs.head_scatter(tiny_bert.read(*PAIR)).widget())
    heads = tiny_bert.read(*PAIR).attention.sizes
    assert page.locator("circle[data-point]").count() == heads["layer"] * heads["head"]
