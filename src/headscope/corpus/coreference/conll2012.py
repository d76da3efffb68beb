"""CoNLL-2012 style coreference: a word a line, brackets in the last column (LitBank too)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headscope.corpus.bad_data import Faults, unreadable
from headscope.corpus.coreference.brackets import Brackets
from headscope.corpus.coreference.documents import CoreferenceDocument, Mention
from headscope.corpus.coreference.mentions import head_without_tree

WORD, TAG = 3, 4
SHORTEST = 5  # document, part, number, word, coreference


def documents(name: str, lines: Iterable[str], faults: Faults) -> Iterator[CoreferenceDocument]:
    """Yield the documents of one file."""
    gathered = _Gathered(name, faults)
    for number, raw in enumerate(lines, 1):
        line = raw.rstrip("\r\n")
        if line.startswith("#begin document"):
            gathered = _Gathered(name, faults, title=line.removeprefix("#begin document").strip())
        elif line.startswith("#end document"):
            yield from gathered.document()
            gathered = _Gathered(name, faults)
        elif not line.strip():
            gathered.sentence += 1
        else:
            gathered.add(line, number)
    yield from gathered.document()  # a file may lack the last #end line


class _Gathered:
    def __init__(self, name: str, faults: Faults, title: str = "") -> None:
        self.name, self.faults, self.title = name, faults, title
        self.brackets = Brackets(name, faults)
        self.words: list[str] = []
        self.tags: list[str] = []
        self.sentences: list[int] = []
        self.sentence = 0
        self.first = 0

    def add(self, line: str, number: int) -> None:
        cells = line.split("\t") if "\t" in line else line.split()
        if unreadable(line):
            message = "a line holds bytes that are not UTF-8"
            self.faults.note("not UTF-8", f"{self.name}:{number}", message)
            return
        if len(cells) < SHORTEST:
            message = f"a line has {len(cells)} columns, and coreference needs {SHORTEST}"
            self.faults.note("malformed line", f"{self.name}:{number}", message)
            return
        self.first = self.first or number
        self.brackets.see(len(self.words), cells[-1].strip(" -_"), number)
        self.words.append(cells[WORD])
        self.tags.append("" if cells[TAG] in "_-" else cells[TAG])
        self.sentences.append(self.sentence)

    def document(self) -> Iterator[CoreferenceDocument]:
        if not self.words:
            return
        words = tuple(self.words)
        mentions = tuple(
            Mention(start, end, head_without_tree(start, end, words), cluster)
            for start, end, cluster in self.brackets.end()
        )
        blank = ("",) * len(words)
        yield CoreferenceDocument(
            name=self.title or self.name,
            where=f"{self.name}:{self.first}",
            words=words,
            sentences=tuple(self.sentences),
            mentions=mentions,
            upos=blank,
            xpos=tuple(self.tags),
            features=blank,
        )
