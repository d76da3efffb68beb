"""A measure: one number per head, with the name and meaning it has everywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Origin = Literal["statistic", "pattern", "circuit", "picture"]


@dataclass(frozen=True)
class Measure:
    """What is known of a number per head without computing it."""

    name: str  # as tables and commands spell it
    title: str  # as people read it
    sentence: str
    unit: str  # "share", "nats", "tokens", "rank correlation", …
    low: float  # no value lies outside low … high
    high: float
    formula: str
    paper: str  # where it comes from
    origin: Origin  # which part of headscope computes it
    needs: str = ""  # what a model or text must have; empty: nothing beyond attention
    of_one_text: bool = False  # whether a single reading has it, too
    standard: bool = False  # whether a survey measures it when no measures are named
    yardstick_of: str | None = None  # the measure this one is only there to judge
    computed_by: Any = field(default=None, compare=False, repr=False)

    @property
    def is_share(self) -> bool:
        """Whether the whole range of 0 to 1 is the natural scale."""
        return (self.low, self.high) == (0.0, 1.0)
