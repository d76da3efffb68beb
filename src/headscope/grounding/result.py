"""A grounding: how much of an answer came from which source, as numbers, words and a figure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from headscope.errors import BadInput
from headscope.grounding.sources import Source
from headscope.results import HeadResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

WHOLE = -1  # the "sentence" that is the whole answer
TITLES = {
    "exact": "log-probability lost without the source (nats)",
    "subsets": "log-probability added by the source, estimated from random subsets (nats)",
    "learned": "attention by learned head weights",
    "logit": "part of the answer's logits that came from the source",
    "norm": "attention weighted by the length of what is moved",
    "attention": "share of attention, mean over heads",
}


@dataclass(frozen=True, eq=False, repr=False)
class Grounding(HeadResult):
    """Sources by answer sentence and method, verdicts in words, and the heads that carried them.

    `scores` has a row per sentence (-1: the whole answer), source and method; `support` one per
    sentence; `table` one per head: its attention to the most important source (mass), the share of
    the answer's tokens that it copies from there (retrieval), and what the answer loses with that
    attention cut (knockout). `together` is the loss with all of those heads cut at once.
    """

    model: str
    messages: tuple[dict[str, str], ...]
    titles: tuple[str, ...]
    documents: tuple[str, ...]
    answer: str
    sentences: tuple[tuple[int, int], ...]  # characters of the answer
    sources: tuple[Source, ...]
    scores: pd.DataFrame
    support: pd.DataFrame
    table: pd.DataFrame  # pyright: ignore[reportIncompatibleMethodOverride]
    together: float | None = None  # nats
    notes: tuple[str, ...] = field(default=())

    holds: ClassVar[tuple[type, ...]] = (Source,)

    @property
    def title(self) -> str:
        return f"What the answer took from {len(self.sources)} sources, {self.model}"

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that scored sources, the most trustworthy first."""
        there = set(self.scores["method"])
        return tuple(name for name in TITLES if name in there)

    @property
    def best(self) -> str:
        """The page's default method: exact if every source has a number."""
        for method in self.methods:
            found = self.scores[self.scores["method"] == method]
            if len(found) == len(self.sources) * (len(self.sentences) + 1):
                return method
        return self.methods[0]

    def by_source(self, method: str | None = None, sentence: int = WHOLE) -> pd.DataFrame:
        """The sources by one method, the largest first.

        Parameters
        ----------
        method
            One of `methods`; the best one if left out.
        sentence
            The number of an answer's sentence, from 0; the whole answer if left out.

        Returns
        -------
        pandas.DataFrame
            Rows of `scores`.
        """
        method = self.best if method is None else method
        if method not in self.methods:
            raise BadInput(f"There is no method {method!r} here; there are {self.methods}.")
        self._need_sentence(sentence)
        rows: Any = self.scores
        rows = rows[(rows["method"] == method) & (rows["sentence"] == sentence)]
        return rows.sort_values("value", ascending=False).reset_index(drop=True)

    def _need_sentence(self, sentence: int) -> None:
        known = range(WHOLE, len(self.sentences))
        if sentence not in known:
            raise BadInput(
                f"There is no sentence {sentence!r}; the answer has sentences 0 to {known[-1]}."
            )

    def sentence_text(self, sentence: int) -> str:
        self._need_sentence(sentence)
        if sentence == WHOLE:
            return self.answer
        start, stop = self.sentences[sentence]
        return self.answer[start:stop]

    def __str__(self) -> str:
        """A line for each sentence of the answer: its text and the verdict."""
        support: Any = self.support
        lines = [
            f"{self.sentence_text(int(row.sentence)).strip()}  →  {row.verdict}"
            for row in support.itertuples()
            if row.sentence != WHOLE
        ]
        return "\n".join(lines)

    def plot(self, name: str | None = None, kind: str | None = None) -> Figure:
        """Sources × answer sentences, coloured by one method; a measure's name draws its heads."""
        if name is not None and name in self.measures:
            return super().plot(name, kind)
        from headscope.figures.source_map import source_map

        method = self.best if name is None else name
        order = [one.name for one in self.sources]
        values = np.full((len(self.sentences), len(order)), np.nan)
        for at in range(len(self.sentences)):
            rows: Any = self.by_source(method, at)
            for row in rows.itertuples():
                values[at, order.index(str(row.source))] = row.value
        texts = [self.sentence_text(at) for at in range(len(self.sentences))]
        return source_map(values, texts, order, title=self.title, caption=TITLES[method])
