"""Documents from wherever text lies: files, folders, tables, pipes, data sets, Python lists."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from headscope.corpus.bad_data import Faults
from headscope.corpus.sample import PARAGRAPHS, or_sample
from headscope.corpus.sources import texts
from headscope.corpus.text import wikitext
from headscope.errors import BadInput

Layout = Literal["auto", "lines", "paragraphs", "file", "wikitext"]
LAYOUTS: tuple[Layout, ...] = ("auto", "lines", "paragraphs", "file", "wikitext")
TEXT = (".txt", ".text", ".md", ".raw", ".tokens")
LINES_OF_JSON = (".jsonl", ".ndjson")
TREEBANK = (".conllu",)
ENDINGS = (*TEXT, *LINES_OF_JSON, *TREEBANK, ".parquet")
PEEK = 200  # lines looked at before the layout of a text file is decided

Corpus = "str | Path | Iterable[Any]"


@dataclass(frozen=True)
class Document:
    """One text, or two sentences; sentences already known are kept."""

    text: str
    pair: str | None = None
    sentences: tuple[str, ...] | None = None
    where: str = ""


@dataclass(frozen=True)
class Reader:
    """How to read a corpus, and what was wrong with it."""

    field: str = "text"  # the column or key that holds the text
    layout: Layout = "auto"  # what a document is in a plain text file

    def documents(self, corpus: Any, faults: Faults) -> Iterator[Document]:
        """Yield the documents of a corpus in a fixed order; empty ones are noted and left out."""
        if self.layout not in LAYOUTS:
            raise BadInput(f"A layout is one of {', '.join(LAYOUTS)}, not {self.layout!r}.")
        for document in self._every(corpus, faults):
            if document.text.strip() or (document.pair or "").strip():
                yield document
            else:
                faults.note("empty document", document.where, "the document is empty")

    def _every(self, corpus: Any, faults: Faults) -> Iterator[Document]:
        corpus = or_sample(corpus, PARAGRAPHS)
        if isinstance(corpus, (str, Path)):
            if str(corpus) == "-":
                yield from self._text("standard input", sys.stdin)
            else:
                yield from self._path(Path(corpus), faults)
            return
        if not isinstance(corpus, Iterable):
            raise BadInput(
                f"A corpus is a path or an iterable of texts, not {type(corpus).__name__}."
            )
        for number, item in enumerate(corpus, 1):
            yield self._item(item, f"document {number}", faults)

    def _path(self, path: Path, faults: Faults) -> Iterator[Document]:
        if not path.exists():
            raise BadInput(f"There is no file or folder {path}.")
        files = _files(path) if path.is_dir() else [path]
        for file in files:
            name = str(file.relative_to(path)) if path.is_dir() else file.name
            plain = _without_compression(file)
            if plain.endswith(".parquet"):
                yield from self._parquet(file, name, faults)
            elif plain.endswith(TREEBANK):
                yield from _treebank(file, faults)
            else:
                for _, lines in texts(file, ("",)):
                    if plain.endswith(LINES_OF_JSON):
                        yield from self._json(name, lines, faults)
                    else:
                        yield from self._text(name, lines)

    def _text(self, name: str, lines: IO[str]) -> Iterator[Document]:
        if self.layout == "file":
            yield Document(lines.read(), where=name)
            return
        start = list(itertools.islice(lines, PEEK))
        layout = _guess(start) if self.layout == "auto" else self.layout
        every = itertools.chain(start, lines)
        if layout == "wikitext":
            for number, paragraphs in wikitext.articles(every):
                yield Document("\n".join(paragraphs), where=f"{name}:{number}")
        elif layout == "paragraphs":
            yield from _paragraphs(name, every)
        else:
            for number, line in enumerate(every, 1):
                if line.strip():  # an empty line among lines separates, it is no document
                    yield Document(line.strip(), where=f"{name}:{number}")

    def _json(self, name: str, lines: IO[str], faults: Faults) -> Iterator[Document]:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            where = f"{name}:{number}"
            try:
                item = json.loads(line)
            except json.JSONDecodeError as error:
                faults.note("corrupt line", where, f"the line is not JSON ({error.msg})")
                continue
            yield self._item(item, where, faults)

    def _parquet(self, path: Path, name: str, faults: Faults) -> Iterator[Document]:
        import pyarrow
        import pyarrow.parquet

        try:
            file = pyarrow.parquet.ParquetFile(path)
        except (pyarrow.ArrowException, OSError) as error:
            raise BadInput(f"{path} is no Parquet file that can be read ({error}).") from error
        if self.field not in file.schema_arrow.names:
            known = ", ".join(file.schema_arrow.names)
            raise BadInput(f"{path} has no column {self.field!r} but {known}; name one as field.")
        wanted = [c for c in (self.field, "text_pair") if c in file.schema_arrow.names]
        number = 0
        for batch in file.iter_batches(batch_size=1024, columns=wanted):
            for row in batch.to_pylist():
                number += 1
                yield self._item(row, f"{name}:{number}", faults)

    def _item(self, item: Any, where: str, faults: Faults) -> Document:
        if isinstance(item, Document):
            return item
        if isinstance(item, str):
            return Document(item, where=where)
        if isinstance(item, Mapping):
            text = item.get(self.field)
            if isinstance(text, str):
                pair = item.get("text_pair")
                return Document(text, pair if isinstance(pair, str) else None, where=where)
            keys = ", ".join(str(key) for key in item)
            faults.note("no text", where, f"there is no text under {self.field!r}, only {keys}")
            return Document("", where=where)
        if isinstance(item, (tuple, list)) and len(item) == 2:
            text, pair = item
            if isinstance(text, str) and (pair is None or isinstance(pair, str)):
                return Document(text, pair, where=where)
        faults.note("not a text", where, f"a {type(item).__name__} is neither a text nor a pair")
        return Document("", where=where)


def _files(folder: Path) -> list[Path]:
    found = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and _without_compression(path).endswith(ENDINGS)
    )
    if not found:
        raise BadInput(f"{folder} holds no file that ends in {', '.join(ENDINGS)}.")
    return found


def _without_compression(path: Path) -> str:
    return path.stem if path.suffix in (".gz", ".xz", ".bz2") else path.name


def _guess(lines: list[str]) -> Layout:
    """WikiText by its marks; paragraphs where empty lines stand between lines; else lines."""
    if wikitext.looks_like_wikitext(lines):
        return "wikitext"
    inner = lines[:-1] if len(lines) < PEEK else lines
    return "paragraphs" if any(not line.strip() for line in inner) else "lines"


def _paragraphs(name: str, lines: Iterable[str]) -> Iterator[Document]:
    gathered: list[str] = []
    first = 1
    for number, line in enumerate(lines, 1):
        if line.strip():
            if not gathered:
                first = number
            gathered.append(line.strip())
        elif gathered:
            yield Document("\n".join(gathered), where=f"{name}:{first}")
            gathered = []
    if gathered:
        yield Document("\n".join(gathered), where=f"{name}:{first}")


def _treebank(path: Path, faults: Faults) -> Iterator[Document]:
    """The documents of a treebank: its sentences, gathered by their `newdoc` marks."""
    from headscope.corpus.treebanks.conllu import Sentence, read_conllu

    def text(sentence: Sentence) -> str:
        return sentence.text or " ".join(sentence.words)

    sentences = read_conllu(path, faults)
    for _, group in itertools.groupby(sentences, key=lambda sentence: sentence.document):
        of_document = list(group)
        found = tuple(text(sentence) for sentence in of_document)
        yield Document(" ".join(found), sentences=found, where=of_document[0].where)
