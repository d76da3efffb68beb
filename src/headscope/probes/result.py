"""What the results of all probes have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import pandas as pd

from headscope.capture import Kind
from headscope.corpus.bad_data import Fault, Faults
from headscope.results import HeadResult


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProbeResult(HeadResult):
    """Numbers per head, the kind of attention, and the data's faults."""

    faults: Faults = field(repr=False)
    kind: Kind = "encoder"

    holds: ClassVar[tuple[type, ...]] = (Faults, Fault)

    def rows_of_best(self, ways: Sequence[str], name: str, kind: str | None) -> pd.DataFrame:
        """The rows of whichever of these measures has the best head; else those of `name`."""
        found = [HeadResult.rows(self, way, kind) for way in ways if way in self.measures]
        if not found:
            return HeadResult.rows(self, name, kind)
        return max(found, key=lambda rows: float(cast(Any, rows["value"]).max()))
