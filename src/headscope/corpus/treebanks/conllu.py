"""CoNLL-U: trees of any treebank in any language, read sentence by sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from headscope.corpus.bad_data import Faults, unreadable, whole_number

ENDINGS = (".conllu", ".conll", ".conllx")
RANGE = re.compile(r"[0-9]{1,9}-[0-9]{1,9}")  # a multi-word token, before its words
EMPTY = re.compile(r"\d+\.\d+")  # an empty node: part of the enhanced graph only


@dataclass(frozen=True)
class Sentence:
    """A sentence of syntactic words with its tree; all tuples have one entry per word."""

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


def sentences(name: str, lines: Iterable[str], faults: Faults) -> Iterator[Sentence]:
    """Yield the valid sentences of one open file."""
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
    words = _words(name, block, faults)
    if not words:
        return None
    columns = [cells for _, cells, _ in words]
    heads = tuple(int(cells[6]) - 1 for cells in columns)
    fault = _tree_fault(heads)
    if fault is not None:
        word, kind, message = fault
        faults.note(kind, f"{name}:{words[word][0]}", message)
        return None
    text, first = block.comments.get("text", ""), f"{name}:{block.rows[0][0]}"
    spelled = "".join("".join(part for *_, part in words).split())
    if text and spelled != "".join(text.split()):
        message = "the words do not spell the sentence's own '# text'"
        faults.note("mismatched text", first, message)
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
        lines=tuple(number for number, *_ in words),
        where=first,
        name=block.comments.get("sent_id", ""),
        document=document,
        text=text,
    )


def _words(name: str, block: _Block, faults: Faults) -> list[tuple[int, list[str], str]] | None:
    """Every word's line number, cells and spelling in `# text`; None: a fault."""
    found: list[tuple[int, list[str], str]] = []
    covered, waiting = 0, ""  # the last word of a multi-word token, and the token's spelling
    for number, line in block.rows:
        cells = line.split("\t")
        if (wrong := _line_fault(line, cells, len(found) + 1)) is not None:
            faults.note(wrong[0], f"{name}:{number}", wrong[1])
            return None
        if RANGE.fullmatch(cells[0]):
            waiting += cells[1]
            covered = int(cells[0].partition("-")[2])
        elif not EMPTY.fullmatch(cells[0]):
            own = cells[1] if len(found) + 1 > covered else ""
            found.append((number, cells, waiting + own))
            waiting = ""
    return found


def _line_fault(line: str, cells: list[str], expected: int) -> tuple[str, str] | None:
    """What is wrong with a line, if anything: (kind, message)."""
    if unreadable(line):
        return "not UTF-8", "a line holds bytes that are not UTF-8"
    if len(cells) != 10:
        return "malformed line", f"a line has {len(cells)} columns instead of 10"
    if RANGE.fullmatch(cells[0]) or EMPTY.fullmatch(cells[0]):
        return None
    if cells[0] != str(expected):
        return "malformed line", f"word number {cells[0]!r} stands where {expected} should"
    if whole_number(cells[6]) is None:
        return "malformed line", f"head {cells[6]!r} is not a word number"
    if not cells[1].strip():
        return "malformed line", "a word has no form"
    return None


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
