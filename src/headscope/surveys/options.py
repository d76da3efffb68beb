"""The options of a pass over a corpus: how text is cut, what else is measured, where it runs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from headscope.arguments import need_count, need_real, need_seed
from headscope.corpus.bad_data import Choice
from headscope.corpus.text.documents import Layout
from headscope.corpus.text.segments import PAIR_TOKENS, Segmentation
from headscope.errors import BadInput

if TYPE_CHECKING:  # processes that only prepare text run without torch
    from headscope.reading import Scope

ON_CPU = 2_048  # tokens of a batch
# Python needs about ten milliseconds to launch a batch of any size; a small model computes the
# smallest batch in little more than that
FEWEST, MOST = 32_768, 131_072
SHARE = 8  # a batch may take one part in so many of a GPU's memory
COPIES = 4  # of the widest activation, in memory at the same time
MAPS = 16 * 4 * 2  # bytes per token and key if maps are made: 16 heads, and a copy
MOST_WORKERS = 1_024
LENGTH = 1_024  # of texts, if a model sets no limit


@dataclass(frozen=True)
class Options:
    """The options of `hs.survey` beside those that all long functions share."""

    segments: Segmentation = "windows"  # or whole "documents", cut to fit, or "pairs" of sentences
    stride: int | None = None  # tokens from one window to the next; None: where the last one ends
    max_tokens: int | None = None  # of a segment; None: what the model reads
    distances: bool = False  # also measure distances between heads
    interval: float | None = None  # the level of a bootstrap interval, such as 0.95
    token_types: Literal["proper", "zeros"] = "proper"
    seed: int = 0  # of pairs, masks and intervals
    engine: Literal["local", "ray"] = "local"
    address: str | None = None  # of a Ray cluster
    workers: int | None = None  # processes; by default this one alone, or all that Ray has
    field: str = "text"  # the column or key that holds the text
    layout: Layout = "auto"  # how a text file is split into documents
    bad_data: Choice = "skip"  # or "refuse": for data that cannot be read
    batch_tokens: int | None = None  # per batch, padding included
    chunk: int | None = None  # segments between two checkpoints

    def __post_init__(self) -> None:
        for name in ("workers", "max_tokens", "stride", "batch_tokens", "chunk"):
            need_count(getattr(self, name), name)
        need_seed(self.seed)
        if self.workers is not None and self.workers > MOST_WORKERS:
            raise BadInput(f"workers= is at most {MOST_WORKERS}, not {self.workers}.")
        need_real(self.interval, "interval")
        if self.interval is not None and not 0 < self.interval < 1:
            raise BadInput(
                f"An interval is a share between 0 and 1, such as 0.95, not {self.interval}."
            )
        if self.max_tokens is not None and self.max_tokens < 8:
            raise BadInput(f"Segments need room for at least 8 tokens, not {self.max_tokens}.")

    @staticmethod
    def named(given: dict[str, Any]) -> Options:
        """The options of those names; an unknown name raises."""
        known = [field.name for field in fields(Options)]
        for name in given:
            if name not in known:
                raise BadInput(f"A survey has no option {name!r}; it has {', '.join(known)}.")
        return Options(**given)

    def changed(self) -> str | None:
        """The first option that differs from its default."""
        plain = Options()
        differing = (
            f.name for f in fields(self) if getattr(self, f.name) != getattr(plain, f.name)
        )
        return next(differing, None)

    @property
    def spreads(self) -> bool:
        """Whether other processes measure."""
        return self.engine == "ray" or (self.workers or 1) > 1

    def longest(self, scope: Scope) -> int | None:
        """The most tokens of a segment: the requested number or the model's limit."""
        pairs = PAIR_TOKENS if self.segments == "pairs" and self.max_tokens is None else None
        limits = (self.max_tokens, pairs, scope.max_tokens)
        return min((limit for limit in limits if limit is not None), default=None)

    def tokens_of_a_batch(self, scope: Scope) -> int:
        """Tokens of a batch; the default depends on the model and the size of the GPU."""
        if self.batch_tokens is not None:
            return self.batch_tokens
        if scope.device.type != "cuda":
            return ON_CPU
        import torch
        from torch import nn

        wide = [m.out_features for m in scope.model.modules() if isinstance(m, nn.Linear)]
        numbers = (p.element_size() for p in scope.model.parameters() if p.is_floating_point())
        each = max(wide, default=4_096) * next(numbers, 4) * COPIES
        each += MAPS * (self.longest(scope) or LENGTH)
        room = torch.cuda.get_device_properties(scope.device).total_memory / SHARE
        count = MOST
        while count > FEWEST and count * each > room:
            count //= 2
        return count
