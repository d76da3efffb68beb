"""Attention from content tokens to any special token."""

from __future__ import annotations

from headscope.patterns.grid import Grid
from headscope.patterns.pattern import MassPattern, Targets


def targets(grid: Grid) -> Targets | None:
    special = ~grid.key.content
    if not grid.square or not special.any():
        return None
    from_content = grid.query.content[:, None] & grid.visible
    return Targets(from_content & special[None, :], from_content)


pattern = MassPattern(
    name="delimiter",
    label="delimiter",
    about="attends to the special tokens",
    cut=0.6,
    causal=False,
    targets=targets,
)
