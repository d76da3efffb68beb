"""Patching's result: how much of the clean answer each part restores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput
from headscope.results import HeadResult, tidy
from headscope.tasks.metrics import Metric, rank_correlation
from headscope.tasks.significance import Differences, enough_draws, paired_test

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
EXACT, ESTIMATE = "patch", "patch_estimate"
SURE = 0.05
MOST_NUMBERS = 20_000_000  # parts × draws in memory at once


@dataclass(frozen=True)
class Site:
    """A patched part: a head, or with `head` None a layer's MLP or hidden state."""

    layer: int
    head: int | None
    query: int | str | None  # a token's number or a position's name; None: at every position


@dataclass(frozen=True, eq=False, repr=False)
class Patching(HeadResult):
    """0: the answer stays as on the corrupted prompt; 1: it is that of the clean one."""

    model: str
    task: str
    what: str
    kind: str
    sites: tuple[Site, ...]
    effects: dict[str, Floats]  # "patch", "patch_estimate": e n, change of the metric
    clean: Floats  # n, the metric on the clean prompts
    corrupted: Floats  # n
    tokens: tuple[str, ...]  # of the first clean prompt, or the names of the positions
    intervals: dict[str, Differences] = field(repr=False)
    metric: str = "logit_difference"
    higher_is_better: bool = True  # of the metric; shares do not depend on it
    prompts: tuple[str, ...] = ()  # the clean ones

    holds: ClassVar[tuple[type, ...]] = (Site, Differences)

    @property
    def title(self) -> str:
        return f"{self.task}: what {self.what} of {self.model} bring back"

    def share(self, name: str | None = None) -> Floats:
        """e: the share of the clean answer each part restores, over all pairs."""
        chosen = name or next(iter(self.effects))
        if chosen not in self.effects:
            raise BadInput(f"There is no measure {chosen!r}; there are {', '.join(self.effects)}.")
        return share_of(self.effects[chosen], self.clean - self.corrupted)

    @property
    def table(self) -> pd.DataFrame:
        """Tidy; one position's measure is called patch:position."""
        import pandas as pd

        frames: list[pd.DataFrame] = []
        for name in self.effects:
            found = self.intervals[name]
            frames.append(
                pd.DataFrame(
                    {
                        "layer": [one.layer for one in self.sites],
                        "head": pd.array([one.head for one in self.sites], dtype="Int64"),
                        "measure": [
                            name if one.query is None else f"{name}:{one.query}"
                            for one in self.sites
                        ],
                        "value": self.share(name),
                        "error": found.error,
                        "low": found.low,
                        "high": found.high,
                        "p": found.p,
                        "p_holm": found.p_holm,
                        "p_bh": found.p_bh,
                    }
                )
            )
        return tidy(pd.concat(frames, ignore_index=True), kind=self.kind, count=len(self.clean))

    @property
    def by_pair(self) -> pd.DataFrame:
        """A row per pair and part: the change of the metric, and its share of clean − corrupted."""
        import pandas as pd

        frames: list[pd.DataFrame] = []
        whole = self.clean - self.corrupted
        for name, effects in self.effects.items():
            for number, text in enumerate(self.prompts):
                of: Any = pd.DataFrame([vars(one) for one in self.sites])
                share = effects[:, number] / whole[number] if whole[number] else np.nan
                frames.append(
                    of.assign(pair=number, text=text, measure=name, change=effects[:, number],
                              share=share, clean=self.clean[number],
                              corrupted=self.corrupted[number])
                )  # fmt: skip
        return pd.concat(frames, ignore_index=True)

    @property
    def agreement(self) -> float:
        """Spearman's rank correlation of exact and estimated patches; NaN if one is missing."""
        if not {EXACT, ESTIMATE} <= set(self.effects):
            return float("nan")
        return rank_correlation(self.share(EXACT), self.share(ESTIMATE))

    def by_position(self, name: str | None = None) -> Floats:
        """layers × positions, the sum over heads: where the answer travels."""
        if any(one.query is None for one in self.sites):
            raise BadInput("Patch with positions=True to see effects position by position.")
        layers = 1 + max(one.layer for one in self.sites)
        found = np.zeros((layers, len(self.tokens)))
        for one, value in zip(self.sites, self.share(name), strict=True):
            at = self.tokens.index(one.query) if isinstance(one.query, str) else one.query
            found[one.layer, at] += value
        return found

    def plot(self, name: str | None = None, kind: str | None = None) -> Figure:
        """Layers × heads (those that survive Holm's correction outlined) or × positions."""
        from headscope.figures import layer_head_map

        label = "share of the clean answer brought back"
        if any(one.query is not None for one in self.sites):
            values = self.by_position(name)
            return layer_head_map(values, f"{self.title}, by position", label, diverging=True)
        chosen = name or next(iter(self.effects))
        if self.sites[0].head is None:
            values = self.share(chosen)[:, None]
        else:
            values = self.map(chosen, kind).to_numpy()
        sure = [
            (one.layer, one.head or 0)
            for one, p in zip(self.sites, self.intervals[chosen].p_holm, strict=True)
            if p < SURE
        ]
        return layer_head_map(values, self.title, label, diverging=True, mark=sure)


def share_of(effects: Floats, whole: Floats) -> Floats:
    """Σ effect / Σ (clean − corrupted); 0 if the model answers both prompts alike."""
    total = whole.sum()
    return effects.sum(1) / total if abs(total) > 1e-6 * len(whole) else np.zeros(len(effects))


def intervals_of(effects: Floats, whole: Floats, seed: int) -> Differences:
    """Bootstrap over pairs of the share, with p-values corrected for the number of parts."""
    metric = Metric("share", True, _sums, _share)
    none = np.zeros((len(whole), 1))
    draws = min(enough_draws(len(effects)), max(2_000, MOST_NUMBERS // len(effects)))
    return paired_test(metric, none, effects[:, :, None], whole, draws, seed, unit="pairs")


def _sums(answers: Floats, labels: Floats) -> Floats:
    return np.stack([answers[:, 0], labels])


def _share(sums: Floats) -> Floats:
    total = sums[..., 1]
    safe = np.where(np.abs(total) > 1e-6, total, 1.0)
    return np.where(np.abs(total) > 1e-6, sums[..., 0] / safe, 0.0)
