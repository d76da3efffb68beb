"""A new view is one Python file and one folder of the front end: everything else finds it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.test_walk import PAGE_HOST, WALK

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
PYTHON = '''"""A view for this test alone."""

from __future__ import annotations

from headscope.figures.style import describe, drawing, new_figure
from headscope.views.shared.state import checked
from headscope.views.wire.frame import Sending, frame

NAME = "throwaway"
SHOWS = "the number of tokens, and nothing else"
OPTIONS = {"mood": ("calm", "loud")}


def build(reading, layer=None, *, kind=None, sending=None, **options):
    """Opens on the first layer."""
    part = reading.part(kind)
    state = {"kind": part.kind, "layer": layer or part.numbers[0], **checked(options)}
    return frame(NAME, reading, state, sending or Sending())


def draw(reading, state, labels=()):
    with drawing():
        figure = new_figure(2, 1)
        figure.text(0.1, 0.5, str(len(reading.part().query)))
    return describe(figure, view=NAME, tokens=len(reading.part().query))
'''
SCRIPT = """export default {
  name: "throwaway", title: "throw-away", place: 99, controls: ["layer"], chips: "none",
  choices: [{ name: "mood", title: "mood", entries: [["calm", "calm"], ["loud", "loud"]] }],
  missing: () => null,
  create: (context) => {
    const element = document.createElement("div");
    element.style.height = "200px";
    return {
      element,
      update: (state) => {
        const end = context.painting.begin();
        const { length } = context.reading.tokens(state.kind).query.text;
        element.textContent = `${length} ${state.mood}`;
        context.status("counted", null);
        end();
      },
      redraw: () => undefined,
      picture: () => ({ tokens: context.reading.tokens("encoder").query.text.length }),
      destroy: () => undefined,
    };
  },
};
"""
USE = """
import sys
import headscope as hs
from headscope.cli import main
from headscope.surfaces.app.export import export
from headscope.surfaces.app.kept import KeptReading
from tests.tiny import tiny_scope
from tests.views_page import rows
reading = tiny_scope("BertForPreTraining").read("the cat sat")
view = hs.throwaway_view(reading, 1, mood="loud", labels=())
view.save(sys.argv[1] + "/page.html")
view.save(sys.argv[1] + "/figure.svg")
assert "throwaway_view" in hs.__all__ and "throwaway_view" in dir(hs)
assert any("hs.throwaway_view(reading, layer)" in row for row in rows()), rows()
kept = KeptReading("tiny", None, "the cat sat", None, reading, (), None)
data, kind, name = export(kept, {"format": "svg", "view": "throwaway", "mood": "loud"})
assert b"throwaway" in data and name.startswith("tiny-throwaway")
try:
    hs.throwaway_view(reading, mood="angry")
except hs.BadInput as error:
    assert "'calm' or 'loud'" in str(error)
sys.argv[1:] = ["view", "--help"]
main()
"""


@pytest.fixture(scope="module")
def copied(tmp_path_factory) -> Path:
    """The package with one file and one folder more; all else are links to what is there."""
    home = tmp_path_factory.mktemp("package")
    package = home / "headscope"
    package.mkdir()
    for path in (ROOT / "src" / "headscope").iterdir():
        if path.name not in ("views", "surfaces", "__pycache__"):
            (package / path.name).symlink_to(path)
    skipped = shutil.ignore_patterns("__pycache__")
    for name in ("views", "surfaces"):
        shutil.copytree(ROOT / "src" / "headscope" / name, package / name, ignore=skipped)
    (package / "views" / "throwaway.py").write_text(PYTHON)
    folder = home / "web" / "throwaway"
    folder.mkdir(parents=True)
    (folder / "index.ts").write_text(SCRIPT)
    script = package / "surfaces" / "static" / "headscope.js"
    node = shutil.which("node") or str(Path(sys.executable).parent / "node")
    build = [node, str(ROOT / "web" / "build.mjs"), str(script), str(folder.parent)]
    subprocess.run(build, check=True, capture_output=True, timeout=120)
    return home


def test_one_file_and_one_folder_make_a_view_everywhere(copied, new_page):
    path = os.pathsep.join([str(copied), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", USE, str(copied)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "throwaway" in done.stdout, "the command's help names it"
    page = new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((copied / "page.html").as_uri())
    page.locator("[data-headscope].hs-ready").wait_for()
    assert page.locator(".stage").inner_text() == "5 loud"
    page.evaluate(WALK)
    found = page.evaluate(f"headscopeWalk.walk({PAGE_HOST})")
    assert "throwaway" in found["tabs"] and found["problems"] == []
    page.wait_for_url("**mood=loud**")
    assert errors == []
