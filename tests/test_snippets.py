"""The Python of README and guides runs as it stands, and prints what the pages say it prints.

The blocks of a page run one after the other in an empty folder that holds a `corpus.txt`, a
`corpus/` and an `article.txt`, with the bundled model as `scope`. A block that needs a hub model, a
GPU or somebody's own file says so in a comment before it: `<!-- not run: why -->`. A block of
`text` after a block of `python` is what that block prints.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import re
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import nbformat
import pytest

import headscope as hs

ROOT = Path(__file__).parents[1]
FENCE = re.compile(
    r"(?P<skip><!-- not run: (?P<why>[^>]+?) -->\n+)?```python\n(?P<code>.*?)```\n"
    r"(?:\n?```text\n(?P<prints>.*?)```)?",
    re.S,
)
FAST = ("README.md", "docs/index.md", "docs/start/first-picture.md", "docs/how-to/views.md")


class Block(NamedTuple):
    code: str
    prints: str | None
    why: str | None  # it is not run


def blocks(path: Path) -> list[Block]:
    found = FENCE.finditer(path.read_text("utf-8"))
    return [Block(each["code"], each["prints"], each["why"]) for each in found]


PAGES = [
    pytest.param(path, marks=[] if name in FAST else [pytest.mark.slow], id=name)
    for path in sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
    if (name := path.relative_to(ROOT).as_posix())
    and any(block.why is None for block in blocks(path))
]


@pytest.fixture(scope="module")
def scope() -> hs.Scope:
    return hs.load()


@pytest.fixture
def known(scope: hs.Scope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Names and files that the pages may take for granted."""
    monkeypatch.chdir(tmp_path)
    lines = [f"The {what} was cold. It was left at the door.\n" for what in ("milk", "soup", "tea")]
    Path("corpus.txt").write_text("\n".join(lines * 4))
    Path("article.txt").write_text(" ".join(lines * 8))
    Path("corpus").mkdir()
    Path("corpus/one.txt").write_text("\n".join(lines * 4))
    reading = scope.read("I went to the store.", "At the store, I bought fresh strawberries.")
    reading.save("r.safetensors")
    hs.survey(scope, lines, output="survey.parquet", progress=False)
    return {"hs": hs, "scope": scope, "reading": reading, "corpus": lines}


@pytest.mark.parametrize("path", PAGES)
def test_the_code_of_a_page_runs_and_prints_what_it_says(path: Path, known: dict[str, Any]) -> None:
    matplotlib.use("Agg")
    for block in blocks(path):
        if block.why is None:
            printed = run(block.code, known)
            if block.prints is not None:
                assert printed == block.prints


def run(code: str, known: dict[str, Any]) -> str:
    """What the code prints; a last line that is a value is shown, as an interpreter would."""
    tree = ast.parse(code)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        last = tree.body[-1]
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(tree.body[:-1], []), "<page>", "exec"), known)
            value = eval(compile(ast.Expression(last.value), "<page>", "eval"), known)
            if value is not None:
                print(repr(value))
        else:
            exec(compile(tree, "<page>", "exec"), known)
    return printed.getvalue()


def test_what_a_page_prints_is_compared() -> None:
    assert run("1 + 1\n", {}) == "2\n"
    assert run("for n in range(2):\n    print(n)\n", {}) == "0\n1\n"


def test_the_first_screen_shows_what_its_code_prints() -> None:
    assert blocks(ROOT / "README.md")[0].prints


def shown() -> list[tuple[str, str]]:
    """All Python of pages and tutorials, also what no test runs."""
    found = [
        (path.name, block.code)
        for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
        for block in blocks(path)
    ]
    for path in ROOT.glob("docs/tutorials/*.ipynb"):
        cells = nbformat.read(path, 4).cells
        found += [(path.name, cell.source) for cell in cells if cell.cell_type == "code"]
    return found


def test_every_call_that_is_shown_has_arguments_that_exist() -> None:
    """Snippets that need a model or a file do not run here, and are written from memory."""
    known = {"hs": hs, "scope": hs.Scope, "reading": hs.Reading}
    checked = 0
    for page, code in shown():
        tree = ast.parse(code.replace("…", "..."))
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            path = ast.unparse(call.func).split(".")
            if path[0] not in known or not all(part.isidentifier() for part in path):
                continue
            called: Any = known[path[0]]
            for part in path[1:]:
                called = getattr(called, part, None)
            if path[0] != "hs" and called is None:
                continue  # an attribute of the object, such as reading.attention
            assert called is not None, f"{page} calls {'.'.join(path)}, which does not exist"
            parameters = inspect.signature(called).parameters
            if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
                continue
            asked = {keyword.arg for keyword in call.keywords} - {None}
            assert asked <= set(parameters), f"{page}: {ast.unparse(call)}"
            checked += 1
    assert checked > 150
