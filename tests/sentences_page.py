"""Every error and label, read from the source: `python -m tests.sentences_page` prints the page."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from headscope import errors

ROOT = Path(__file__).parents[1]
RAISED = {name for name, kind in vars(errors).items() if isinstance(kind, type)}
RAISED |= {"ValueError", "KeyError", "TypeError", "AttributeError", "warn", "BadParameter"}
# comments, class names and imports are not shown
HIDDEN = re.compile(
    r"/\*.*?\*/|(?<![:\"'\w])//[^\n]*|\bclass(?:Name)? ?[=:] ?(?:\"[^\"]*\"|\{?`[^`]*`\}?)"
    r"|^(?:import|export)\b[^\n]*\bfrom \"[^\"]*\"", re.S | re.M)  # fmt: skip
QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`([^`]*)`|(?<![=-])>([^<>{}]+)<')
# selectors, paths of drawings, styles, types and code between two tags
CODE = re.compile(
    r"[;=\\<>]|&&|\|\||\?\.|^[\s\d.,a-zMLHVZCQ-]{0,3}$|\b(?:const|return|Promise|string|null)\b"
    r"|^[\[.*:(,?#@]|^[a-z]+[-:][a-z]|^hs[ -]|\b(?:var|rgba?|calc|url|color-mix|matrix|inset)\("
    r"|\d(?:px|fr|em)\b|^px |^[\d ]*[a-z-]+(?: [a-z]*-[a-z-]+)+$")  # fmt: skip


def messages(path: Path) -> Iterator[str]:
    """What a module raises or warns of; values in braces."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in RAISED:
                yield from _written(node.args[0])


def _written(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else f"{{{_value(part)}}}"
                for part in parts
            )
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _written(child)


def _value(part: ast.expr) -> str:
    return ast.unparse(part.value if isinstance(part, ast.FormattedValue) else part)


def labels(path: Path) -> Iterator[str]:
    """Labels, tooltips and sentences of a file of the pages; values in braces."""
    for found in QUOTED.finditer(HIDDEN.sub("", path.read_text("utf-8"))):
        text = " ".join((found[1] or found[2] or found[3] or "").replace("${", "{").split())
        said = re.sub(r"\{.*?\}", "", text)
        if re.search(r"[a-z]{2}.* ", said) and not CODE.search(said):
            yield text


def page() -> str:
    return "\n".join([
        "# Every error and label\n",
        "Compare a new sentence with those the product has. Values stand in braces.",
        "Read from the source by `python -m tests.sentences_page`.\n",
        "## Errors and warnings\n", *_lists("src/headscope", "*.py", messages),
        "## Labels and tooltips\n", *_lists("web/src", "*.ts*", labels),
    ])  # fmt: skip


def _lists(root: str, files: str, read: Callable[[Path], Iterator[str]]) -> Iterator[str]:
    for path in sorted((ROOT / root).rglob(files)):
        texts = dict.fromkeys(text for text in read(path) if " " in text)
        if texts:
            yield f"### {path.relative_to(ROOT / root).as_posix()}\n"
            yield from (f"- `{' '.join(text.split()).replace('`', chr(39))}`" for text in texts)
            yield ""


if __name__ == "__main__":
    print(page())
