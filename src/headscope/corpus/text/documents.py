"""Documents from files, folders, tables, pipes, data sets and Python lists."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headscope.corpus.bad_data import Faults, unreadable
from headscope.corpus.open_text import (
    Lines,
    files_at,
    is_uri,
    name_of,
    open_lines,
    open_part,
    opened,
    standard_input,
    without_compression,
)
from headscope.corpus.sample import PARAGRAPHS, or_sample
from headscope.corpus.sources import files_in, is_archive, texts, there
from headscope.corpus.tables import TEXT as TEXT_COLUMNS
from headscope.corpus.tables import TEXT_PAIR, cells_of, is_header
from headscope.corpus.text import wikitext
from headscope.errors import BadInput
from headscope.json_text import parse_json

if TYPE_CHECKING:
    from headscope.corpus.treebanks.conllu import Sentence

Layout = Literal["auto", "lines", "paragraphs", "file", "wikitext"]
SPAN = 2**40  # numbers of documents and segments reserved for each shard


@dataclass(frozen=True)
class Shard:
    """A file, a row group or a byte range of one, or some documents of a list.

    Its index determines the numbers of its documents and segments.
    """

    number: int
    path: str  # a local path or a URI; empty for documents of a list
    name: str  # its name in faults
    group: int | None = None  # of a Parquet file
    span: tuple[int, int] | None = None  # bytes of a file that hold whole documents
    layout: Layout | None = None  # of the whole file, if this is a part of it
    size: int = 0  # bytes of the file, or documents of a list
    items: Sequence[Any] | None = field(default=None, compare=False, repr=False)

    @property
    def first(self) -> int:
        """The number of its first document and of its first segment."""
        return self.number * SPAN


LAYOUTS: tuple[Layout, ...] = ("auto", "lines", "paragraphs", "file", "wikitext")
TEXT = (".txt", ".text", ".md", ".raw", ".tokens")
LINES_OF_JSON = (".jsonl", ".ndjson")
DELIMITERS = {".tsv": "\t", ".csv": ","}
PEEK = 200  # lines inspected to decide the layout of a text file


def endings() -> tuple[str, ...]:
    """The endings of files that are read when the corpus is a folder."""
    from headscope.corpus.treebanks.treebank import formats

    return (*TEXT, *LINES_OF_JSON, *formats(), *DELIMITERS, ".parquet")


def is_treebank(plain: str) -> bool:
    """Whether a file of this name holds trees, whose sentences are read as text."""
    if plain.endswith((*TEXT, *LINES_OF_JSON, *DELIMITERS)):
        return False  # these need no file format
    from headscope.corpus.treebanks.treebank import formats

    return plain.endswith(tuple(formats()))


@dataclass(frozen=True)
class Document:
    """One text, or two sentences; known sentences are kept."""

    text: str
    pair: str | None = None
    sentences: tuple[str, ...] | None = None
    where: str = ""


@dataclass(frozen=True)
class Reader:
    """How to read a corpus, and its faults."""

    field: str = "text"  # the column or key that holds the text
    layout: Layout = "auto"  # what a document is in a plain text file

    def documents(self, corpus: Any, faults: Faults) -> Iterator[Document]:
        """Yield the documents of a corpus in a fixed order; bad ones are counted and left out."""
        if self.layout not in LAYOUTS:
            raise BadInput(f"A layout is one of {', '.join(LAYOUTS)}, not {self.layout!r}.")
        yield from self._sound(self.every(corpus, faults), faults)

    def shard(self, shard: Shard, faults: Faults) -> Iterator[Document]:
        """The documents of one shard."""
        yield from self._sound(self._of_shard(shard, faults), faults)

    def layout_of(self, path: str) -> Layout:
        """What a document is in a text file; it is guessed from its first lines."""
        if self.layout != "auto":
            return self.layout
        with open_lines(path) as lines:
            return _guess(list(itertools.islice(lines, PEEK)))

    def _of_shard(self, shard: Shard, faults: Faults) -> Iterator[Document]:
        if shard.items is not None:
            first = int(shard.name.rpartition(" ")[2])
            for number, item in enumerate(shard.items, first):
                yield self._item(item, f"document {number}", faults)
            return
        plain = _plain(shard.path)
        if plain.endswith(".parquet"):
            yield from self._parquet(shard.path, shard.name, faults, shard.group)
            return
        if shard.span is None:
            with open_lines(shard.path) as lines:
                yield from self._lines(shard.name, plain, lines, faults)
            return
        whole = self if shard.layout is None else dataclasses.replace(self, layout=shard.layout)
        with open_part(shard.path, shard.name, *shard.span) as lines:
            yield from whole._lines(shard.name, plain, lines, faults)

    def _sound(self, documents: Iterable[Document], faults: Faults) -> Iterator[Document]:
        for document in documents:
            both = (document.text, document.pair)
            sides = [bool(side.strip()) for side in both if side is not None]
            if not any(sides):
                faults.note("empty document", document.where, "the document is empty")
            elif not all(sides):
                faults.note("half-empty pair", document.where, "one sentence of the pair is empty")
            elif any(unreadable(side) for side in both if side is not None):
                message = "the text holds bytes that are not UTF-8, or half a character"
                faults.note("not UTF-8", document.where, message)
            else:
                yield document

    def every(self, corpus: Any, faults: Faults) -> Iterator[Document]:
        """All documents, including empty and unreadable ones."""
        corpus = or_sample(corpus, PARAGRAPHS)
        if isinstance(corpus, (str, Path)):
            if str(corpus) == "-":
                yield from self._text("standard input", standard_input())
            elif is_uri(corpus):
                for number, file in enumerate(files_at(str(corpus), endings())):
                    yield from self._of_shard(Shard(number, file.uri, file.name), faults)
            else:
                yield from self._path(there(corpus), faults)
            return
        if hasattr(corpus, "columns") and hasattr(corpus, "to_dict"):  # a data frame
            yield from self._frame(corpus, faults)
            return
        if not isinstance(corpus, Iterable) or isinstance(corpus, (bytes, bytearray, Mapping)):
            kind = type(corpus).__name__  # pyright: ignore[reportUnknownArgumentType]
            raise BadInput(f"A corpus is a path or an iterable of texts, not {kind}.")
        for number, item in enumerate(corpus, 1):
            yield self._item(item, f"document {number}", faults)

    def _path(self, path: Path, faults: Faults) -> Iterator[Document]:
        if is_archive(path):
            for name, lines in texts(path, endings()):
                yield from self._lines(name, name, lines, faults)
            return
        for file in files_in(path, endings()) if path.is_dir() else [path]:
            name = str(file.relative_to(path)) if path.is_dir() else file.name
            plain = without_compression(file.name).lower()
            if plain.endswith(".parquet"):
                yield from self._parquet(file, name, faults)
            else:
                with open_lines(file) as lines:
                    yield from self._lines(name, plain, lines, faults)

    def _lines(self, name: str, plain: str, lines: Lines, faults: Faults) -> Iterator[Document]:
        """The documents of one open file, read by its ending."""
        if is_treebank(plain):
            yield from _treebank(name, lines, faults)
        elif plain.endswith(LINES_OF_JSON):
            yield from self._json(name, lines, faults)
        elif plain.endswith(tuple(DELIMITERS)):
            yield from self._table(name, lines, DELIMITERS[plain[-4:]], faults)
        else:
            yield from self._text(name, lines)

    def _text(self, name: str, lines: Lines) -> Iterator[Document]:
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
                if line.strip():  # an empty line between lines is a separator, not a document
                    yield Document(line.strip(), where=f"{name}:{number}")

    def _json(self, name: str, lines: Lines, faults: Faults) -> Iterator[Document]:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            where = f"{name}:{number}"
            try:
                item = parse_json(line)
            except ValueError as error:  # also endless numbers and nesting
                message = f"the line is not JSON ({str(error).partition(':')[0]})"
                faults.note("corrupt line", where, message)
                continue
            yield self._item(item, where, faults)

    def _table(self, name: str, lines: Lines, delimiter: str, faults: Faults) -> Iterator[Document]:
        """The rows of a table by its columns; a file of one column without a header is lines."""
        rows = cells_of(name, lines, delimiter)
        first = next(rows, None)
        if first is None:
            return
        if len(first) == 1 and first[0] not in {*TEXT_COLUMNS, self.field}:
            for number, row in enumerate(itertools.chain([first], rows), 1):
                yield Document(row[0], where=f"{name}:{number}")
            return
        header = first if is_header(first) else [str(n + 1) for n in range(len(first))]
        text, pair = self._columns(name, header)
        body = rows if header is first else itertools.chain([first], rows)
        for number, row in enumerate(body, 2 if header is first else 1):
            where = f"{name}:{number}"
            if len(row) < len(header):
                message = f"a row has {len(row)} columns where the first has {len(header)}"
                faults.note("malformed line", where, message)
                continue
            yield Document(row[text], None if pair is None else row[pair], where=where)

    def _columns(self, name: str, header: Sequence[str]) -> tuple[int, int | None]:
        """The columns of the text and of the second text, if any."""
        asked = (self.field,) if self.field != "text" else TEXT_COLUMNS
        text = next((one for one in asked if one in header), None)
        if text is None:
            known = ", ".join(header)
            raise BadInput(
                f"{name} has no column {asked[0]!r}; it has {known}: name one with field=."
            )
        # if the caller chose the text's column, only the plainest name means a second text
        usual = TEXT_PAIR if asked is TEXT_COLUMNS else TEXT_PAIR[:1]
        pair = next((one for one in usual if one in header), None)
        return header.index(text), None if pair is None else header.index(pair)

    def _frame(self, frame: Any, faults: Faults) -> Iterator[Document]:
        """A data frame by its columns."""
        names = [str(name) for name in frame.columns]
        text, pair = self._columns("The data frame", names)
        chosen = [frame.iloc[:, text], *([] if pair is None else [frame.iloc[:, pair]])]
        for number, row in enumerate(zip(*chosen, strict=True), 1):
            item = row[0] if pair is None else (row[0], row[1] if row[1] == row[1] else None)
            yield self._item(item, f"row {number}", faults)

    def _parquet(
        self, path: Path | str, name: str, faults: Faults, group: int | None = None
    ) -> Iterator[Document]:
        import pyarrow
        import pyarrow.parquet

        try:
            file = pyarrow.parquet.ParquetFile(opened(path))
        except (pyarrow.ArrowException, OSError) as error:
            raise BadInput(f"{path} is not a readable Parquet file ({error}).") from error
        if self.field not in file.schema_arrow.names:
            known = ", ".join(file.schema_arrow.names)
            raise BadInput(
                f"{path} has no column {self.field!r}; it has {known}: name one with field=."
            )
        wanted = [c for c in (self.field, "text_pair") if c in file.schema_arrow.names]
        number = 0
        try:
            groups = None if group is None else [group]
            for batch in file.iter_batches(batch_size=1024, row_groups=groups, columns=wanted):
                for row in batch.to_pylist():
                    number += 1
                    yield self._item(row, f"{name}:{number}", faults)
        except (pyarrow.ArrowException, OSError) as error:
            raise BadInput(f"{path} is damaged after row {number} ({error}).") from error

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
        # as in `scope.read`: a tuple of two texts is a pair, a list the words of one text
        if isinstance(item, tuple) and len(item) == 2:
            text, pair = item
            if isinstance(text, str) and (pair is None or isinstance(pair, str)):
                return Document(text, pair, where=where)
        if isinstance(item, list) and all(isinstance(word, str) for word in item):
            return Document(" ".join(item), where=where)
        faults.note("not a text", where, f"a {type(item).__name__} is neither a text nor a pair")
        return Document("", where=where)


def _plain(path: str) -> str:
    name = name_of(path) if is_uri(path) else Path(path).name
    return without_compression(name).lower()


def _guess(lines: list[str]) -> Layout:
    """WikiText by its marks; paragraphs if empty lines separate lines; else lines."""
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


def _treebank(name: str, lines: Iterable[str], faults: Faults) -> Iterator[Document]:
    """The documents of a treebank: its sentences, gathered by their `newdoc` marks."""
    from headscope.corpus.treebanks.treebank import format_of

    def text(sentence: Sentence) -> str:
        return sentence.text or " ".join(sentence.words)

    every = format_of(name).sentences(name, lines, faults)
    for _, group in itertools.groupby(every, key=lambda sentence: sentence.document):
        of_document = list(group)
        found = tuple(text(sentence) for sentence in of_document)
        yield Document(" ".join(found), sentences=found, where=of_document[0].where)
