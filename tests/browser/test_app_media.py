"""Pictures and sounds in the app: by drop, paste and file, and through every view."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

import headscope as hs
from headscope.surfaces.app import Models, create_app
from headscope.surfaces.app.media import FOLDER
from tests.browser.serving import served
from tests.browser.test_walk import APP_HOST, Walker
from tests.reading.media import vision_models as models

pytestmark = pytest.mark.browser
SHADOW = "document.querySelector('[data-headscope-app]').shadowRoot"
GIVE = """async ([how, name, type, data]) => {
  const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name, { type }));
  const zone = SHADOW.querySelector('[data-control=drop]');
  const options = { bubbles: true, cancelable: true, composed: true };
  const dropped = { ...options, dataTransfer: transfer };
  if (how === 'drop') zone.dispatchEvent(new DragEvent('drop', dropped));
  else document.dispatchEvent(new ClipboardEvent('paste', { ...options, clipboardData: transfer }));
}""".replace("SHADOW", SHADOW)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    scopes = {"digits": hs.load("digits"), "hears": models.wav2vec2()}
    opened = Models(["digits", "hears"], scopes=scopes)
    with served(create_app(opened)) as where:
        yield where


def give(page, how: str, path: Path, kind: str) -> None:
    """After the example that the app opens with, whose answer would be taken for this one's."""
    page.locator('.app-main[data-state="ready"] .app-view.hs-ready').wait_for()
    with page.expect_response(lambda reply: "/api/media" in reply.url) as answered:
        if how == "file":
            page.locator("[data-control=file]").set_input_files(str(path))
        else:
            data = base64.b64encode(path.read_bytes()).decode()
            page.evaluate(GIVE, [how, path.name, kind, data])
    assert answered.value.ok
    page.locator('.app-main[data-state="ready"] .app-view.hs-ready').wait_for()
    page.locator(".im-panel canvas").first.wait_for()


@pytest.mark.parametrize(
    ("model", "name", "kind", "said"),
    [("digits", "four.png", "image/png", "on the picture"),
     ("hears", "tones.wav", "audio/wav", "on the sound")],
    ids=["picture", "sound"],
)  # fmt: skip
def test_a_file_is_taken_by_drop_paste_and_choice(new_page, address, model, name, kind, said):
    page = new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{address}/?model={model}")
    page.locator("[data-control=drop]").wait_for()
    for how in ("drop", "paste", "file"):
        give(page, how, FOLDER / name, kind)
        assert name in page.locator("[data-control=drop]").inner_text()
        page.locator(".im-panel figcaption", has_text=said).first.wait_for()
    page.locator("[data-control=file]").set_input_files(
        {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"words"}
    )
    page.locator("[data-control=drop] [role=alert]").wait_for()
    assert "notes.txt is not a" in page.locator("[data-control=drop]").inner_text()
    assert page.locator("[data-control=text]").count() == 0  # neither takes a text beside it
    walker = Walker(page, APP_HOST)
    assert walker.ask(f"headscopeWalk.walk({APP_HOST})")["problems"] == []
    assert walker.errors == [] and errors == []
