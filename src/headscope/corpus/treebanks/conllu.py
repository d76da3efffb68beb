"""CoNLL-U: trees of any treebank in any language, read sentence by sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headscope.corpus.bad_data import Choice, Faults, unreadable, whole_number
from headscope.corpus.sample import STORIES, or_sample
from headscope.corpus.sources import texts

ENDINGS = (".conllu", ".conll", ".conllx")
RANGE = re.compile(r"[0-9]{1,9}-[0-9]{1,9}")  # a multi-word token, before its words
EMPTY = re.compile(r"\d+\.\d+")  # an empty node: part of the enhanced graph only


@dataclass(frozen=True)
class Sentence:
    """A sentence of syntactic words with its tree; all tuples have one entry a word."""

    words: tuple[str, ...]
    heads: tuple[int, ...]  # word number of the head, 0-based; -1 is the root
    relations: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    features: tuple[str, ...]  # FEATS as written
    misc: tuple[str, ...]
    lines: tuple[int, ...]  # line number in the file
    where: str  # file:line of the first word
    name: str = ""  # sent_id
    document: str = ""  # newdoc id
    text: str = ""

    def __len__(self) -> int:
        return len(self.words)


class Treebank(Iterable[Sentence]):
    """The sentences of a CoNLL-U file, folder or archive; read anew at every pass."""

    def __init__(self, path: str | Path, bad: Choice = "skip", limit: int | None = None) -> None:
        self.path = Path(or_sample(path, STORIES))
        self.limit = limit
        self.faults = Faults(bad)

    def __iter__(self) -> Iterator[Sentence]:
        self.faults = Faults(self.faults.choice)  # a second pass must not count twice
        for number, sentence in enumerate(read_conllu(self.path, self.faults)):
            if self.limit is not None and number >= self.limit:
                return
            yield sentence


def read_conllu(path: str | Path, faults: Faults) -> Iterator[Sentence]:
    """Yield the sound sentences of a file, folder or archive; note the others in `faults`."""
    for name, lines in texts(path, ENDINGS):
        yield from sentences(name, lines, faults)


def sentences(name: str, lines: Iterable[str], faults: Faults) -> Iterator[Sentence]:
    """Yield the sound sentences of one open file."""
    document = ""
    for block in _blocks(lines):
        document = block.comments.get("newdoc id", block.comments.get("newdoc", document))
        sentence = _sentence(name, document, block, faults)
        if sentence is not None:
            yield sentence


@dataclass
class _Block:
    """The lines of one sentence, with their numbers in the file."""

    comments: dict[str, str] = field(default_factory=dict[str, str])
    rows: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])


def _blocks(lines: Iterable[str]) -> Iterator[_Block]:
    block = _Block()
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip("\r\n")
        if not line.strip():
            if block.rows:
                yield block
                block = _Block()
        elif line.startswith("#"):
            key, _, value = line[1:].partition("=")
            block.comments[key.strip()] = value.strip()
        else:
            block.rows.append((number, line))
    if block.rows:
        yield block


def _sentence(name: str, document: str, block: _Block, faults: Faults) -> Sentence | None:
    columns: list[list[str]] = []
    numbers: list[int] = []
    first = block.rows[0][0]
    surface: list[str] = []  # what should spell `# text`, spaces aside
    covered = 0  # last word number that a multi-word token spells
    for number, line in block.rows:
        where = f"{name}:{number}"
        cells = line.split("\t")
        if unreadable(line):
            faults.note("not UTF-8", where, "a line holds bytes that are not UTF-8")
            return None
        if len(cells) != 10:
            faults.note("malformed line", where, f"a line has {len(cells)} columns instead of 10")
            return None
        if RANGE.fullmatch(cells[0]):
            surface.append(cells[1])
            covered = int(cells[0].partition("-")[2])
            continue
        if EMPTY.fullmatch(cells[0]):
            continue
        if cells[0] != str(len(columns) + 1):
            message = f"word number {cells[0]!r} stands where {len(columns) + 1} should"
            faults.note("malformed line", where, message)
            return None
        if whole_number(cells[6]) is None:
            faults.note("malformed line", where, f"head {cells[6]!r} is not a word number")
            return None
        if not cells[1].strip():
            faults.note("malformed line", where, "a word has no form")
            return None
        if len(columns) + 1 > covered:
            surface.append(cells[1])
        columns.append(cells)
        numbers.append(number)
    if not columns:
        return None
    heads = tuple(int(cells[6]) - 1 for cells in columns)
    fault = _tree_fault(heads)
    if fault is not None:
        word, kind, message = fault
        faults.note(kind, f"{name}:{numbers[word]}", message)
        return None
    text = block.comments.get("text", "")
    if text and "".join("".join(surface).split()) != "".join(text.split()):
        message = "the words do not spell the sentence's own '# text'"
        faults.note("mismatched text", f"{name}:{first}", message)
        return None

    def column(index: int) -> tuple[str, ...]:
        return tuple(cells[index] for cells in columns)

    return Sentence(
        words=column(1),
        heads=heads,
        relations=column(7),
        upos=column(3),
        xpos=column(4),
        features=column(5),
        misc=column(9),
        lines=tuple(numbers),
        where=f"{name}:{first}",
        name=block.comments.get("sent_id", ""),
        document=document,
        text=text,
    )


def _tree_fault(heads: tuple[int, ...]) -> tuple[int, str, str] | None:
    """The first word that keeps the heads from being one tree: (word, kind, message)."""
    for word, head in enumerate(heads):
        if head >= len(heads):
            return word, "head outside", f"head {head + 1} lies outside the sentence"
    roots = [word for word, head in enumerate(heads) if head < 0]
    sound = [head < 0 for head in heads]
    for word in range(len(heads)):
        path: list[int] = []
        step = word
        while not sound[step] and step not in path:
            path.append(step)
            step = heads[step]
        if not sound[step]:
            return word, "cycle", f"the heads form a cycle through word {step + 1}"
        for passed in path:
            sound[passed] = True
    if len(roots) > 1:
        return roots[1], "several roots", f"{len(roots)} words are marked as the root"
    return None
