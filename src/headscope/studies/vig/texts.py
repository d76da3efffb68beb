"""The texts of the study: the posts' own pair, and a corpus of sentence pairs."""

from __future__ import annotations

from importlib import resources
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.reading import Scope

SENTENCE_A = "I went to the store."
SENTENCE_B = "At the store, I bought fresh strawberries."
LONGEST = 96  # tokens of a corpus pair
USUAL = 200  # default number of pairs

Pair = tuple[str, str]


class Corpus(NamedTuple):
    name: str
    pairs: list[Pair]


def corpus(scope: Scope, data: str | Path | None, limit: int | None) -> Corpus:
    """Sentence pairs from a folder of data (its `wikitext`), from a text file, or our own."""
    most = USUAL if limit is None else limit
    if most < 2:
        raise BadInput(f"The study needs at least 2 sentence pairs, not {most}.")
    if data is None:
        return Corpus("48 sentence pairs that come with headscope", list(islice(_own(), most)))
    path = Path(data)
    if path.is_dir() and (path / "wikitext" / "wiki.valid.raw").exists():
        path = path / "wikitext" / "wiki.valid.raw"
    return Corpus(path.name, list(islice(_cut(scope, path), most)))


def texts_for(scope: Scope, pairs: list[Pair]) -> list[str | Pair]:
    """Pairs as the model reads them: a causal model reads them as one text."""
    return [f"{a} {b}" for a, b in pairs] if scope.causal else list(pairs)


def _own():
    text = (resources.files("headscope.studies.vig") / "passages.txt").read_text("utf-8")
    for line in text.splitlines():
        first, second = line.split("\t")
        yield first, second


def _cut(scope: Scope, path: Path):
    from headscope.corpus.bad_data import Faults
    from headscope.corpus.text.documents import Reader
    from headscope.corpus.text.segments import segments

    documents = Reader().documents(path, Faults("skip"))
    for segment in segments(documents, "pairs", scope.tokenizer, longest=LONGEST):
        if segment.pair is not None:
            yield segment.text, segment.pair
