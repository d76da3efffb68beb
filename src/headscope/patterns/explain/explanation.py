"""Why a head shows a pattern, down to its query and key neurons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headscope.arguments import need_number, need_reading
from headscope.errors import BadInput
from headscope.patterns.explain.causal import Causal, causal
from headscope.patterns.explain.contributors import BIAS, Contributors, contributors
from headscope.patterns.explain.delta import SIZES, Delta, NeuronStability, delta
from headscope.patterns.explain.targets import stretch, targets_of
from headscope.patterns.explain.words import in_words
from headscope.patterns.labels import quick_labels
from headscope.patterns.pattern import Pattern, pattern_named
from headscope.statistics.features.grid import grid_of

if TYPE_CHECKING:
    import pandas as pd

    from headscope.capture import Kind
    from headscope.reading import Reading


@dataclass(frozen=True, eq=False)
class Explanation:
    """The neurons behind a pattern of one head on one text."""

    layer: int
    head: int
    pattern: Pattern
    parts: Contributors
    delta: Delta
    size: int  # how many contributors the explanation rests on
    stability: NeuronStability
    causal: Causal
    queries: range  # the explained queries: all of the text, or a stretch of a long one
    length: int  # queries of the whole text

    @property
    def words(self) -> str:
        """The explanation in words, with numbers."""
        return in_words(self)

    @property
    def order(self) -> list[int]:
        """Single neurons in the order of their contribution, for the neuron view."""
        groups = (self.parts.neurons[c] for c in self.delta.order)
        return [neuron for group in groups for neuron in group if neuron != BIAS]

    @property
    def marked(self) -> list[int]:
        """The neurons the explanation rests on."""
        groups = (self.parts.neurons[c] for c in self.delta.order[: self.size])
        return [neuron for group in groups for neuron in group if neuron != BIAS]

    @property
    def unit(self) -> str:
        sizes = {len(group) for group in self.parts.neurons if group != (BIAS,)}
        if sizes == {1, 2}:
            return "frequency pairs and plain neurons"
        return "frequency pairs" if sizes == {2} else "neurons"

    @property
    def count(self) -> int:
        """Contributors that are neurons or pairs of them."""
        return sum(group != (BIAS,) for group in self.parts.neurons)

    @property
    def bias(self) -> float | None:
        """What the positional bias adds to the targets over the others, where there is one."""
        if self.parts.neurons[-1] != (BIAS,):
            return None
        return float(self.delta.mean[-1])

    @cached_property
    def neurons(self) -> pd.DataFrame:
        """One row per contributor, the largest first."""
        import pandas as pd

        order = self.delta.order
        mean = self.delta.mean[order]
        total = self.delta.total
        return pd.DataFrame(
            {
                "neuron": [self.parts.names[c] for c in order],
                "contribution": mean,
                "share": mean / total if total > 0 else np.nan,
                "cumulative": np.cumsum(mean) / total if total > 0 else np.nan,
                "queries": (self.delta.by_query[:, order] > 0).mean(0),
            }
        )

    @cached_property
    def shares(self) -> pd.DataFrame:
        """Share of the difference carried by the first 1, 2, 4, 8, 16 contributors."""
        import pandas as pd

        sizes = [size for size in SIZES if size <= len(self.parts)]
        return pd.DataFrame(
            {
                "first": sizes,
                "share": [self.delta.share(size) for size in sizes],
                "share_of_absolute": [self.delta.share(size, absolute=True) for size in sizes],
            }
        )

    def top(self, n: int) -> list[str]:
        """The names of the first contributors."""
        return [self.parts.names[c] for c in self.delta.order[:n]]


def explain(
    reading: Reading,
    layer: int,
    head: int,
    pattern: str | Pattern | None = None,
    *,
    kind: Kind | None = None,
    size: int | None = None,
    most_pairs: int = 2**22,
) -> Explanation:
    """Explain a head's pattern on a reading that kept q and k.

    Parameters
    ----------
    reading
        What the model read; `scope.read` keeps q and k by default.
    layer, head
        The head to explain.
    pattern
        The pattern to explain; by default the head's strongest label on this text.
    kind
        Encoder or decoder, where the reading has both; by default the reading's first.
    size
        How many contributors the explanation rests on; by default the fewest that carry 80 % of Δ̄.
    most_pairs
        The most pairs of a query and a key, 8 bytes each. A longer text is
        explained by the neighbouring queries that have most targets.

    Returns
    -------
    Explanation
        The contributors, their share, and what the head does without them.

    Examples
    --------
    >>> import headscope as hs
    >>> reading = hs.load().read("The cat sat on the mat because the cat was tired.")
    >>> found = hs.explain(reading, 0, 0, "previous_word")
    >>> found.pattern.name
    'previous_word'
    """
    need_reading(reading)
    need_number(layer, "A layer")
    need_number(head, "A head")
    part = reading.part(kind)
    if isinstance(pattern, str):
        pattern = pattern_named(pattern)
    if pattern is not None and not isinstance(pattern, Pattern):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput(f"A pattern is named, such as 'next_word', not {type(pattern).__name__}.")
    chosen = pattern or _strongest(reading, part.kind, layer, head)
    if part.query is not part.key:
        raise BadInput(
            "Patterns are explained in self-attention only; choose kind='encoder' or 'decoder'."
        )
    grid = grid_of([part.query], kind=part.kind, causal=part.causal)
    queries = stretch(part, layer, chosen, grid, most_pairs)
    if len(queries) < len(part.query):
        grid = grid.of_queries(slice(queries.start, queries.stop))
    rows = slice(queries.start, queries.stop)
    parts = contributors(part, layer, head, rows)
    found = delta(parts, targets_of(chosen, grid))
    if not len(found.by_query):
        raise BadInput(f"No token of this text has a target for {chosen.label!r}.")
    enough = found.enough() if size is None else size
    if not 1 <= enough <= len(parts):
        raise BadInput(f"An explanation uses 1 to {len(parts)} neurons, not {enough}.")
    captured = part.layer(layer).head_weights(slice(head, head + 1), rows)[0]
    checked = causal(parts, found.order[:enough], captured, chosen, grid)
    stability = found.stability(enough)
    return Explanation(
        layer, head, chosen, parts, found, enough, stability, checked, queries, len(part.query)
    )


def _strongest(reading: Reading, kind: Kind, layer: int, head: int) -> Pattern:
    frame = quick_labels(reading)
    here = frame[(frame["kind"] == kind) & (frame["layer"] == layer) & (frame["head"] == head)]
    if here.empty:
        raise BadInput(
            f"Head {layer}-{head} shows no clear pattern on this text; name the pattern to explain."
        )
    return pattern_named(str(here.iloc[0]["pattern"]))
