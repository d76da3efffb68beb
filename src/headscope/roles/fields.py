"""How a role is scored: each field's measure, correction and directions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from headscope.roles.maps import DIRECTIONS, UnitBatch, product_corrected
from headscope.roles.scores import (
    Tally,
    alignment_error,
    alignment_error_by_chance,
    auc,
    picks,
    precision,
    precision_at_fifth,
    precision_at_fifth_by_chance,
    precision_by_chance,
)
from headscope.roles.timing import time_error

Metric = Literal["precision", "auc", "precision at L/5", "alignment error rate", "time error"]
LOWER = ("alignment error rate", "time error")  # smaller is better

OF_MAPS: dict[str, Callable[[Tensor, UnitBatch], Tally]] = {
    "precision": lambda maps, batch: precision(batch, picks(maps, batch)),
    "auc": auc,
    "precision at L/5": precision_at_fifth,
    "alignment error rate": lambda maps, batch: alignment_error(batch, picks(maps, batch)),
    "time error": time_error,
}
# the mean and variance of each document's score with shuffled labels; any path forward in time
# beats shuffled times, so that time error has none
BY_CHANCE: dict[str, Callable[[UnitBatch, Tensor], tuple[Tensor, Tensor]]] = {
    "precision": precision_by_chance,
    "precision at L/5": precision_at_fifth_by_chance,
    "alignment error rate": alignment_error_by_chance,
}


@dataclass(frozen=True)
class Field:
    """How one field scores heads."""

    name: str = "links"
    metric: Metric = "precision"
    directions: tuple[str, ...] = DIRECTIONS
    corrected: bool = False  # by the average product, as contacts are
    apart: int = 0  # units nearer than this are excluded
    standardised: bool = False  # over queries: a candidate that all attend to counts for none
    shift: int = 0  # -1: a query is measured at the token before, which predicts it

    @property
    def metrics(self) -> tuple[str, ...]:
        """The field's own first; every field has precision at one and AUC."""
        return tuple(dict.fromkeys((self.metric, "precision", "auc")))

    @property
    def tested(self) -> tuple[str, ...]:
        """The measures that are compared with shuffled labels."""
        return tuple(metric for metric in self.metrics if metric in BY_CHANCE)

    @property
    def lower(self) -> bool:
        """Whether the smaller score is the better one."""
        return self.metric in LOWER

    def directed(self, there: Tensor, back: Tensor) -> dict[str, Tensor]:
        """The maps of each direction, corrected where the field corrects them."""
        made = {DIRECTIONS[0]: there, DIRECTIONS[1]: back, DIRECTIONS[2]: there + back}
        chosen = {name: made[name] for name in self.directions}
        if self.standardised:
            return {name: _standard(maps) for name, maps in chosen.items()}
        if not self.corrected:
            return chosen
        return {name: product_corrected(maps) for name, maps in chosen.items()}


def _standard(maps: Tensor) -> Tensor:
    """… q k, each candidate standardised over the queries.

    Each query's weights are first scaled to sum to one over the candidates: for Whisper, over the
    moments of the sound, without the padding of its window.
    """
    maps = maps / maps.sum(-1, keepdim=True).clamp_min(1e-12)
    spread = maps.std(-2, keepdim=True, unbiased=False)
    return (maps - maps.mean(-2, keepdim=True)) / spread.clamp_min(1e-12)


LINKS = Field()
ALIGNMENT = Field("alignment", "alignment error rate")
ATOMS = Field("atoms")
CONTACTS = Field("contacts", "precision at L/5", directions=DIRECTIONS[2:], corrected=True, apart=6)
SPEECH = Field("speech", "time error", directions=DIRECTIONS[:1], standardised=True)
