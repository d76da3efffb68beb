"""A corpus of relations: a JSONL file or a FrameNet folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from headscope.corpus.bad_data import Choice, Faults
from headscope.corpus.relations.examples import Relation, read_jsonl
from headscope.corpus.relations.framenet import is_framenet, read_framenet
from headscope.corpus.sample import RELATIONS, or_sample


class Relations(Iterable[Relation]):
    """The relations of a JSONL file or of a FrameNet folder; read anew at every pass."""

    def __init__(
        self, path: str | Path, bad_data: Choice = "skip", limit: int | None = None
    ) -> None:
        self.path = Path(or_sample(path, RELATIONS))
        self.limit = limit
        self.faults = Faults(bad_data)

    def __iter__(self) -> Iterator[Relation]:
        self.faults = Faults(self.faults.choice)  # a second pass must not count twice
        found = (
            read_framenet(self.path, self.faults)
            if is_framenet(self.path)
            else read_jsonl(self.path, self.faults)
        )
        for number, relation in enumerate(found):
            if self.limit is not None and number >= self.limit:
                return
            yield relation
