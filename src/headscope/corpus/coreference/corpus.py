"""A corpus with coreference: CoNLL-2012 style (LitBank too), CoNLL-U `Entity=`, and GAP."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

from headscope.corpus.bad_data import Choice, Faults
from headscope.corpus.coreference import conll2012, entities, gap
from headscope.corpus.coreference.documents import CoreferenceDocument
from headscope.corpus.sample import STORIES, or_sample
from headscope.corpus.sources import texts
from headscope.errors import BadInput

Reader = Callable[[str, Iterable[str], Faults], Iterator[CoreferenceDocument]]
Layout = Literal["conll2012", "conllu", "gap"]
LAYOUTS: dict[str, Layout] = {"conllu": "conllu", "tsv": "gap"}  # by the ending of the name


def _reader(name: str, layout: Layout | None) -> Reader:
    if layout is None:
        plain = name.removesuffix(".xz").removesuffix(".gz").removesuffix(".bz2")
        ending = plain.rpartition(".")[2]
        layout = LAYOUTS.get(ending, "conll2012")
    readers: dict[str, Reader] = {
        "conll2012": conll2012.documents,
        "conllu": entities.documents,
        "gap": gap.documents,
    }
    if layout not in readers:
        raise BadInput(
            f"Coreference files have one of the formats {', '.join(readers)}, not {layout!r}."
        )
    return readers[layout]


class CoreferenceCorpus(Iterable[CoreferenceDocument]):
    """The documents of a file, folder or archive; read anew at every pass."""

    endings = (".conllu", ".conll", "_conll", ".tsv")

    def __init__(
        self,
        path: str | Path,
        bad_data: Choice = "skip",
        limit: int | None = None,
        layout: Layout | None = None,
    ) -> None:
        self.path = Path(or_sample(path, STORIES))
        self.limit = limit
        self.layout: Layout | None = layout
        self.faults = Faults(bad_data)

    def __iter__(self) -> Iterator[CoreferenceDocument]:
        self.faults = Faults(self.faults.choice)  # a second pass must not count twice
        seen = 0
        for name, lines in texts(self.path, self.endings):
            for document in _reader(name, self.layout)(name, lines, self.faults):
                if self.limit is not None and seen >= self.limit:
                    return
                seen += 1
                yield document
