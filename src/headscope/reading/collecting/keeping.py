"""What a reading keeps of each layer, and how much memory that takes.

By default (`keep="auto"`) a reading keeps q and k, from which weights are computed on use. It keeps
whole maps if they are small, if a family gives no q and k, or if weights from q and k differ from
the model's own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from headscope.capture.call import Kind
from headscope.errors import BadInput
from headscope.reading import memory
from headscope.reading.describe import Description

Keep = Literal["weights", "q", "k", "v"]
WhatToKeep = Collection[Keep] | Literal["auto"]
Layer = tuple[Kind, int]

SMALL = 64_000_000  # bytes: smaller maps of a kind are kept instead of computed again


@dataclass(frozen=True)
class Keeping:
    """`auto` decides by size; otherwise `names` are kept, and nothing else."""

    names: frozenset[Keep]
    auto: bool
    most: int  # bytes

    @staticmethod
    def of(keep: WhatToKeep, most: str | int | None = None) -> Keeping:
        if isinstance(keep, str):
            if keep != "auto":
                raise BadInput(f"keep is 'auto' or a list of names, such as keep=[{keep!r}].")
            return Keeping(frozenset(("q", "k")), True, memory.limit(most))
        known = ", ".join(get_args(Keep))
        given: Any = keep  # any argument of the caller
        if not isinstance(given, Collection) or getattr(given, "ndim", 1) == 0:
            raise BadInput(f"keep= is 'auto' or a list chosen from {known}, not {keep!r}.")
        wrong = [name for name in keep if name not in get_args(Keep)]
        if wrong:
            raise BadInput(f"keep has no {wrong[0]!r}; choose from {known}.")
        return Keeping(frozenset(keep), False, memory.limit(most))

    @property
    def wants_scores(self) -> bool:
        """Whether to keep q and k in families where capture must record them."""
        return not self.names.isdisjoint(("q", "k"))

    def maps(self, maps: int, neurons: int) -> bool:
        """Whether maps are kept beside q and k; both numbers are bytes of a whole kind."""
        return maps <= max(SMALL, neurons) if self.auto else "weights" in self.names

    def expected(
        self,
        described: Description,
        sizes: Mapping[Kind, tuple[int, int]],  # queries and keys
        layers: Collection[int] | None,
        item: int,  # bytes of a number of the model
    ) -> int:
        """The expected bytes of one input, before it is read."""
        total = 0
        for kind, (queries, keys) in sizes.items():
            every = described.layer_numbers.get(kind, ())
            count = len(every) if layers is None else len([one for one in layers if one in every])
            heads, groups = described.heads.get(kind, 0), described.groups.get(kind, 0)
            dim = described.dims.get(kind, 0)
            maps = count * heads * queries * keys * 4
            q, k = count * heads * queries * dim * item, count * groups * keys * dim * item
            total += maps if not dim and self.auto else 0
            total += maps if self.maps(maps, q + k) and (dim or not self.auto) else 0
            total += sum(
                size for name, size in (("q", q), ("k", k), ("v", k)) if name in self.names
            )
        return total

    def check(self, size: int, lazily: int, started: bool = False) -> None:
        """Raise an error if it does not fit; `lazily` is the size with keep='auto'."""
        if size <= self.most:
            return
        ways = ["name fewer layers with layers=[…]", f"allow it with memory='{_rounded_up(size)}'"]
        if not self.auto and lazily < size:
            ways.insert(
                0, f"keep q and k instead of maps with keep='auto' ({memory.spelled(lazily)})"
            )
        raise BadInput(
            f"This reading {'takes more than' if started else 'would take'} "
            f"{memory.spelled(self.most if started else size)}"
            f"{'' if started else f', and {memory.spelled(self.most)} are allowed'}; "
            f"{', '.join(ways[:-1])} or {ways[-1]}."
        )


def _rounded_up(size: int) -> str:
    return f"{-(-size // 10**9)}GB"
