"""Every error, label and sentence, read from the source: `python -m tests.sentences_page` prints
them; with the path of an older checkout, those that changed: today → new."""

from __future__ import annotations

import ast
import difflib
import functools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from headscope import errors

ROOT = Path(__file__).parents[1]
RAISED = {name for name, kind in vars(errors).items() if isinstance(kind, type)}
RAISED |= {"ValueError", "KeyError", "TypeError", "AttributeError", "warn", "BadParameter"}
# types, styles, policies of pages, and names that libraries give to corners of a figure
CODE = re.compile(
    r"^\w+(?:\[.*\]|<.*>)|\| None$|^\w+(?: \| \w+)+$|\{[\w-]+:\S*\}|\b\w+-src\b|'none'|doctest"
    r"|^(?:offset points|upper left|center \w+)$"
)
FONTS = "figures/fonts.py"
TAGS = re.compile(r"\{\{.*?\}\}|\{#.*?#\}|\{%.*?%\}|<(script|style|code)\b.*?</\1>|<[^>]*>", re.S)
ALIKE = 0.5  # of the letters of two sentences, so that one is taken for the other's new wording


def messages(path: Path) -> list[str]:
    """What a module raises or warns of, through functions and constants too; values in braces."""
    return _of(path)[0]


def others(path: Path) -> list[str]:
    """All else that a module may show: help, titles, panels, the glossary, texts for models."""
    return _of(path)[1]


@functools.cache
def _of(path: Path) -> tuple[list[str], list[str]]:
    if path.suffix == ".html":
        text = TAGS.sub("\n", path.read_text("utf-8"))
        return [], [line.strip() for line in text.splitlines() if re.search(r"[a-z]{2}", line)]
    tree = ast.parse(path.read_text("utf-8"))
    raised = {id(part) for node in _raised(tree, path) for part in ast.walk(node)}
    found: tuple[list[str], list[str]] = ([], [])
    for node in _strings(tree):
        for text in _written(node):
            if _is_prose(text):
                found[id(node) not in raised].append(" ".join(text.split()))
    return tuple(list(dict.fromkeys(texts)) for texts in found)  # type: ignore[return-value]


def _raised(tree: ast.Module, path: Path) -> Iterator[ast.AST]:
    names = _indirect(_package(path))
    for node in ast.walk(tree):
        match node:
            case ast.Call(args=[first, *_]) if _name(node.func) in RAISED:
                yield first
            case ast.FunctionDef() if node.name in names:
                yield node
            case ast.Assign(targets=[ast.Name(id=name)]) if name in names:
                yield node


def _package(path: Path) -> Path:
    return next(above for above in path.parents if above.name == "headscope")


@functools.cache
def _indirect(package: Path) -> set[str]:
    """Functions and constants of the package that make the sentence of an error."""
    found = set[str]()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                made = node.exc if _name(node.exc.func)[:1].islower() else None
                for each in [made, *([] if made else node.exc.args[:1])]:
                    found.add(_name(each.func) if isinstance(each, ast.Call) else _name(each))
    return found - {"", "str", "join", "strip", "format"}


def _name(node: ast.AST | None) -> str:
    return str(getattr(node, "id", getattr(node, "attr", "")))


def _strings(node: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """All strings but docstrings."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.JoinedStr) or (
            isinstance(child, ast.Constant)
            and isinstance(child.value, str)
            and not isinstance(node, ast.Expr)
        ):
            yield child
        else:
            yield from _strings(child)


def _written(node: ast.Constant | ast.JoinedStr) -> Iterator[str]:
    if isinstance(node, ast.Constant):
        yield str(node.value)
        return
    yield "".join(
        str(part.value) if isinstance(part, ast.Constant) else f"{{{_value(part)}}}"
        for part in node.values
    )
    for part in node.values:  # words that stand only inside a value
        yield from (text for inner in _strings(part) for text in _written(inner))


def _value(part: ast.expr) -> str:
    return ast.unparse(part.value if isinstance(part, ast.FormattedValue) else part)


def _is_prose(text: str) -> bool:
    plain = re.sub(r"\{[^}]*\}*", "·", text)
    return bool(re.search(r"[^\W\d_]{2}.*\s.*[^\W\d_]{2}", plain, re.S)) and not CODE.search(text)


@functools.cache
def labels(web: Path = ROOT / "web" / "src") -> dict[str, list[str]]:
    """What the pages show, by file: labels, tooltips, sentences; values in braces."""
    node = shutil.which("node") or str(Path(sys.executable).parent / "node")
    script = [node, str(ROOT / "web" / "labels.mjs"), str(web)]
    done = subprocess.run(script, capture_output=True, check=True, encoding="utf-8")
    return json.loads(done.stdout)


Sections = dict[str, dict[str, list[str]]]


def sections(root: Path = ROOT) -> Sections:
    package = root / "src" / "headscope"
    paths = sorted([*package.rglob("*.py"), *package.rglob("*.html")])
    named = {
        path.relative_to(package).as_posix(): path
        for path in paths
        if "static" not in path.parts and not path.as_posix().endswith(FONTS)
    }
    return {
        "Errors and warnings": {name: messages(path) for name, path in named.items()},
        "Labels and tooltips": labels(root / "web" / "src"),
        "Help, titles, panels and texts that models read": {
            name: others(path) for name, path in named.items()
        },
    }


def page() -> str:
    lines = [
        "# Every error and label\n",
        "Compare a new sentence with those the product has. Values stand in braces.",
        "[The glossary](../understand/glossary.md) explains the terms.",
        "Read from the source by `python -m tests.sentences_page`.\n",
    ]
    for title, files in sections().items():
        lines.append(f"## {title}\n")
        for name, texts in files.items():
            if texts:
                lines += [f"### {name}\n", *(f"- {_code(text)}" for text in texts), ""]
    return "\n".join(lines)


def changes(older: Path) -> str:
    """A table of each section: what an older checkout says, what this one says."""
    lines = [
        "# Sentences: before and now\n",
        "Look up here what became of a sentence. The left column is of version 0.2.0's last state",
        "before its words were edited, the right column of today; values stand in braces.",
        "Printed by `python -m tests.sentences_page OLDER` with a checkout of commit `936e8fa7`.\n",
    ]
    before, now = sections(older), sections()
    for title, files in now.items():
        old = {text: name for name, texts in before[title].items() for text in texts}
        new = {text: name for name, texts in files.items() for text in texts}
        left = [text for text in old if text not in new]
        right = [text for text in new if text not in old]
        pairs = list[tuple[str, str]]()
        for name in dict.fromkeys([*files, None]):  # within a file first, then among files
            mine = [text for text in left if name in (None, old[text])]
            its = [text for text in right if name in (None, new[text])]
            found = paired(mine, its)
            pairs += found
            left = [text for text in left if text not in dict(found)]
            right = [text for text in right if text not in dict(found).values()]
        gone, fresh = len(left), len(right)
        lines.append(f"## {title}\n\n{len(pairs)} reworded, {fresh} new, {gone} gone.\n")
        lines += ["| before | now |", "|---|---|"]
        lines += [f"| {_cell(a)} | {_cell(b)} |" for a, b in pairs]
        lines.append("")
    return "\n".join(lines)


def paired(old: list[str], new: list[str]) -> list[tuple[str, str]]:
    """The likeliest new wording of each old sentence; each is used once."""
    words = [{*re.findall(r"\w+", text.lower())} for text in new]
    ratios: list[tuple[float, int, int]] = []
    for i, text in enumerate(old):
        mine = {*re.findall(r"\w+", text.lower())}
        for j, its in enumerate(words):
            if 2 * len(mine & its) > ALIKE * (len(mine) + len(its)):
                ratio = difflib.SequenceMatcher(None, text, new[j]).ratio()
                if ratio > ALIKE:
                    ratios.append((ratio, i, j))
    found: dict[int, int] = {}
    for _, i, j in sorted(ratios, reverse=True):
        if i not in found and j not in found.values():
            found[i] = j
    return [(old[i], new[j]) for i, j in sorted(found.items())]


def _cell(text: str) -> str:
    return _code(text).replace("|", "\\|")


def _code(text: str) -> str:
    flat = " ".join(text.split()).replace("`", "'")
    return f"`{flat}`"


if __name__ == "__main__":
    print(changes(Path(sys.argv[1])) if len(sys.argv) > 1 else page())
