"""Learning rate: a short warm-up, a long plateau, then straight down to zero.

The plateau does not need to know when training ends; the decay does. With a time budget the
decay starts when its share of the time is left, and the number of its steps follows from the
speed measured so far, corrected on the way, so the rate is zero when the time is up on any
machine.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Schedule:
    peak: float
    warmup: int
    decay_share: float
    decay_start: int | None = None
    decay_steps: int = 0
    level: float = 1.0  # share of the peak at decay_start

    @classmethod
    def for_steps(cls, peak: float, warmup: int, decay_share: float, steps: int) -> Schedule:
        decay = max(1, round(steps * decay_share))
        return cls(peak, warmup, decay_share, steps - decay, decay)

    def _level(self, step: int) -> float:
        if self.decay_start is None or step < self.decay_start:
            return 1.0
        return self.level * max(0.0, 1.0 - (step - self.decay_start) / self.decay_steps)

    def decay_from(self, step: int, steps_left: int) -> None:
        """Go down to zero in so many steps, from wherever the rate is now."""
        self.level = self._level(step)
        self.decay_start, self.decay_steps = step, max(1, steps_left)

    @property
    def end(self) -> int | None:
        """The first step that is not taken; None while the decay has not begun."""
        return None if self.decay_start is None else self.decay_start + self.decay_steps

    def rate(self, step: int) -> float:
        return self.peak * min(1.0, (step + 1) / max(1, self.warmup)) * self._level(step)
