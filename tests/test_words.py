"""What people read is in plain words: docs, help, errors, labels (docs/contributing/writing.md)."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from headscope.arguments import need_seed
from headscope.errors import BadInput
from tests.sentences_page import labels, page

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "contributing" / "writing.md"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
PAGES += sorted(path for path in ROOT.glob("docs/**/*.md") if path != GUIDE)
SOURCES = sorted(ROOT.glob("src/headscope/**/*.py"))
WEB = sorted([*ROOT.glob("web/src/**/*.ts"), *ROOT.glob("web/src/**/*.tsx")])

AVOIDED = {
    "in hand": r"\bin hand\b",
    "gone on with": r"\b(?:gone|goes|going|go|went) on with\b",
    "is told": r"\b(?:is|are|was|were) told\b",
    "is said": r"\b(?:is|are|was|were) said\b",
    "is no number": r"\b(?:is|are) no numbers?\b",
    "whoever": r"\bwhoever\b",
    "place": r"(?<!\bin )(?<!\bin the )(?<!\btake )(?<!\btakes )(?<!\bits )(?<!\{)\bplaces?\b",
    "evenly": r"\bevenly\b|\beven attention\b",
    "taken apart": r"\btaken apart\b|\btakes? \w+(?: \w+)? apart\b",
    "nobody": r"\bnobody\b",
}
# files that still hold an avoided word: entries may go, none may come
EXCEPTIONS = {
    "src/headscope/studies/kovaleva/inputs.py": {"nobody"},  # a sentence that the model reads
}
LONGEST = 35  # words
LONG_SENTENCES = 19  # in the docs today; lower it when sentences were cut

# spelling is British ("colour", "normalise"); these are right there too, or names
AMERICAN_TOO = {"program", "programs", "story", "stories", "meters", "focused", "biased",
                "licensed", "math", "tokenizer", "tokenizers", "visualizing"}  # fmt: skip
IZE = re.compile(
    r"(?<![\w.-])(?!(?:over|re|down)?siz|sei|priz)\w+iz(?:e[drs]?|ers|ing|ations?)(?![\w.(=-])",
    re.I,
)

FENCE = re.compile(r"^(```|~~~).*?^\1", re.S | re.M)
CODE = re.compile(r"`[^`\n]*`|\]\([^)]*\)|<[^>\n]+>")
HELPS = {"help", "about", "title", "shows", "label", "hint"}


def prose(text: str) -> str:
    """A page without its code and the addresses of its links."""
    return CODE.sub("]", FENCE.sub("", text))


def sentences(text: str) -> Iterator[str]:
    """Sentences of paragraphs and lists; tables and headings are none."""
    lines = [
        "" if re.match(r"\s*(?:[|#!]|---)", line) else re.sub(r"^\s*(?:[-*]|\d+\.) ", "\n\n", line)
        for line in FENCE.sub("", text).splitlines()
    ]
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        yield from re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split()))


def literals(node: ast.AST) -> str:
    """All strings in an expression, those of f-strings too."""
    found = [
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
        if " " in each.value  # names and keys are no prose
    ]
    return " ".join(found)


@functools.cache
def shown(path: Path) -> list[str]:
    """What a module shows to people: messages it raises or warns of, helps, titles, sentences."""
    return list(_shown(path))


def _shown(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield literals(node.exc)
        elif isinstance(node, ast.Call):
            yield from (literals(each.value) for each in node.keywords if each.arg in HELPS)
            yield from (literals(each) for each in node.args)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.Return) and node.value is not None:
            yield literals(node.value)


def avoided(texts: Iterator[str] | list[str], path: Path) -> list[str]:
    """Avoided words in the texts of a file, those excepted left out."""
    name = path.relative_to(ROOT).as_posix()
    free = EXCEPTIONS.get(name, set())
    return [
        f"{name}: {word}: …{text[max(0, found.start() - 50) : found.end() + 30]}…"
        for text in texts
        for word, pattern in AVOIDED.items()
        if word not in free
        for found in re.finditer(pattern, text, re.I)
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_page_holds_a_word_to_avoid(path: Path) -> None:
    assert avoided([" ".join(prose(path.read_text("utf-8")).split())], path) == []


def test_no_sentence_shown_by_the_package_holds_a_word_to_avoid() -> None:
    assert [each for path in SOURCES for each in avoided(shown(path), path)] == []


def test_no_label_of_the_pages_holds_a_word_to_avoid() -> None:
    assert [each for path in WEB for each in avoided(labels(path), path)] == []


def test_every_exception_is_still_one() -> None:
    for name, words in EXCEPTIONS.items():
        path = ROOT / name
        texts = shown(path) if path.suffix == ".py" else list(labels(path))
        for word in words:
            assert any(re.search(AVOIDED[word], text, re.I) for text in texts), (name, word)


def american(text: str) -> list[str]:
    """Words in American spelling, by codespell's own list read backwards, and verbs in -ize."""
    found = {word.lower() for word in re.findall(r"(?<![\w.-])[A-Za-z]+(?![\w.(=-])", text)}
    return sorted((found & _american_words() | {each.lower() for each in IZE.findall(text)})
                  - AMERICAN_TOO)  # fmt: skip


@functools.cache
def _american_words() -> frozenset[str]:
    pairs = resources.files("codespell_lib") / "data" / "dictionary_en-GB_to_en-US.txt"
    return frozenset(line.split("->")[1] for line in pairs.read_text("utf-8").splitlines() if line)


def test_spelling_is_british_in_what_people_read() -> None:
    texts = [(path, prose(path.read_text("utf-8"))) for path in PAGES]
    texts += [(path, text) for path in SOURCES for text in shown(path)]
    texts += [(path, text) for path in WEB for text in labels(path)]
    assert {(path.name, *words) for path, text in texts if (words := american(text))} == set()
    assert american("The color of tokenizers is normalized") == ["color", "normalized"]


def test_the_guide_lists_every_word_to_avoid() -> None:
    text = GUIDE.read_text("utf-8").lower()
    assert [word for word in AVOIDED if word not in text] == []


def test_long_sentences_of_the_docs_only_become_fewer() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {sentence}"
        for path in PAGES
        for sentence in sentences(path.read_text("utf-8"))
        if len(sentence.split()) > LONGEST
    ]
    assert len(long) <= LONG_SENTENCES, "\n".join(long)
    assert len(long) > LONG_SENTENCES - 10, f"lower LONG_SENTENCES to {len(long)}"


def test_the_page_of_sentences_holds_errors_and_labels_as_people_meet_them() -> None:
    text = page()
    with pytest.raises(BadInput) as refused:
        need_seed(-1)
    assert str(refused.value).partition(" to ")[0] in text
    assert "- `Type a sentence to read.`" in text and "- `Back to the default`" in text
