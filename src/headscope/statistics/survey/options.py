"""What a survey may be told: how text is cut, what is added, where and how it runs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from headscope.corpus.bad_data import Choice
from headscope.corpus.text.documents import Layout
from headscope.corpus.text.segments import PAIR_TOKENS, Segmentation
from headscope.errors import BadInput
from headscope.reading import Scope


@dataclass(frozen=True)
class Options:
    """Every option of `hs.survey` beside those that all long functions share."""

    segments: Segmentation = "windows"  # or whole "documents", cut to fit, or "pairs" of sentences
    stride: int | None = None  # tokens from one window to the next; None: where the last one ends
    max_tokens: int | None = None  # that a segment is cut to; None: what the model reads
    distances: bool = False  # also how unlike any two heads attend
    interval: float | None = None  # the level of a bootstrap interval, such as 0.95
    token_types: Literal["proper", "zeros"] = "proper"
    seed: int = 0  # of pairs, masks and intervals
    engine: Literal["local", "ray"] = "local"
    address: str | None = None  # of a Ray cluster
    workers: int | None = None  # processes; of Ray all there are unless told, else this one
    field: str = "text"  # the column or key that holds the text
    layout: Layout = "auto"  # how a text file is split into documents
    bad_data: Choice = "skip"  # or "refuse": what to do with data that cannot be read
    batch_tokens: int | None = None  # read at once, padding included
    chunk: int | None = None  # segments measured between two looks at the clock

    def __post_init__(self) -> None:
        if self.interval is not None and not 0 < self.interval < 1:
            raise BadInput(
                f"An interval is a share between 0 and 1, such as 0.95, not {self.interval}."
            )
        if self.token_types not in ("proper", "zeros"):
            raise BadInput(f"Token types are 'proper' or 'zeros', not {self.token_types!r}.")
        if self.engine not in ("local", "ray"):
            raise BadInput(f"An engine is 'local' or 'ray', not {self.engine!r}.")
        if self.max_tokens is not None and self.max_tokens < 8:
            raise BadInput(f"Segments need room for at least 8 tokens, not {self.max_tokens}.")

    @staticmethod
    def named(given: dict[str, Any]) -> Options:
        """The options of those names; an unknown one is told."""
        known = [field.name for field in fields(Options)]
        for name in given:
            if name not in known:
                raise BadInput(f"A survey has no option {name!r}; it has {', '.join(known)}.")
        return Options(**given)

    def longest(self, scope: Scope) -> int | None:
        """Tokens a segment is cut to: what was asked for, and what the model reads."""
        pairs = PAIR_TOKENS if self.segments == "pairs" and self.max_tokens is None else None
        limits = (self.max_tokens, pairs, scope.max_tokens)
        return min((limit for limit in limits if limit is not None), default=None)
