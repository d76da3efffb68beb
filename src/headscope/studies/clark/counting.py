"""A step's progress bar moved by a callback instead of a loop."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headscope.studies.steps import Steps


@contextmanager
def counting(
    steps: Steps, name: str, sources: Iterable[Iterable[object] | None]
) -> Generator[Callable[[int], None]]:
    """Yield what a probe calls with the number of items it has finished."""
    total = sum(sum(1 for _ in source) for source in sources if source is not None)
    bar = iter(steps.track(range(total), name, total))

    def seen(count: int) -> None:
        for _ in range(count):
            next(bar, None)

    try:
        yield seen
    finally:
        for _ in bar:  # a bar that is run out takes itself away
            pass
