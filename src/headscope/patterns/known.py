"""Every pattern there is, by name: our own, and those that other packages registered."""

from __future__ import annotations

from headscope.errors import BadInput
from headscope.measures import every
from headscope.patterns.pattern import Pattern


def patterns() -> dict[str, Pattern]:
    """Every pattern by name."""
    found: dict[str, Pattern] = {}
    for name, measure in every().items():
        by = measure.computed_by
        pattern = by if isinstance(by, Pattern) else getattr(by, "pattern", None)
        if isinstance(pattern, Pattern) and name == pattern.name:
            found[name] = pattern
    return found


def pattern_named(name: str) -> Pattern:
    """The pattern of that name."""
    known = patterns()
    if name not in known:
        raise BadInput(f"There is no pattern {name!r}; the patterns are {', '.join(known)}.")
    return known[name]
