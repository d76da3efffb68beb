"""Attributions of many prompts: the mean of every part with its interval, and the single values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from headscope.circuits.logits.attribution import BARS, Floats, PartName, PartOfLogit
from headscope.errors import BadInput
from headscope.results import HeadResult, tidy
from headscope.statistics.significance import mean_interval
from headscope.tasks.significance import Differences

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Attributions(HeadResult):
    """Logits of many prompts, each a sum over heads, MLPs, embeddings and biases."""

    model: str
    prompts: tuple[str, ...]
    target: tuple[tuple[str, ...], ...]  # each prompt's answer, or two to compare
    position: tuple[int | None, ...]
    value: Floats  # n, the logit, or the first minus the second
    parts: tuple[PartOfLogit, ...]  # what the rows of `values` are
    values: Floats  # e n
    unexplained: Floats  # n, a prompt's logit minus the sum of its parts
    names: tuple[str, ...]  # positions that every prompt has
    from_positions: Floats  # heads names n, what each head took from each named position
    intervals: Differences = field(repr=False)
    note: str = ""

    holds: ClassVar[tuple[type, ...]] = (PartOfLogit, Differences)

    @property
    def title(self) -> str:
        return (
            f"What made the answers of {self.model} to {len(self.prompts)} prompts "
            f"({self.value.mean():+.2f} on average)"
        )

    @property
    def table(self) -> pd.DataFrame:
        """Tidy: `logit` is each part's mean, `logit:S2` the mean of what came from position S2."""
        import pandas as pd

        frame = _frame(self.parts).assign(measure="logit", **_columns(self.intervals))
        heads = _frame([one for one in self.parts if one.part == "head"])
        named = [
            heads.assign(
                measure=f"logit:{name}", **_columns(_of_position(self.from_positions[:, at]))
            )
            for at, name in enumerate(self.names)
        ]
        whole: Any = pd.concat([frame, *named], ignore_index=True)
        first = whole.sort_values("head", na_position="last", kind="stable")
        return tidy(first.reset_index(drop=True), count=len(self.prompts))

    @property
    def by_prompt(self) -> pd.DataFrame:
        """A row per prompt and part: what that part added to that prompt's answer."""
        import pandas as pd

        of_part = _frame(self.parts)
        every = [
            of_part.assign(prompt=number, text=text, target=" over ".join(target), value=values)
            for number, (text, target, values) in enumerate(
                zip(self.prompts, self.target, self.values.T, strict=True)
            )
        ]
        first = ["prompt", "text", "target", "part", "kind", "layer", "head", "value"]
        whole: Any = pd.concat(every, ignore_index=True)
        return whole[first]

    def strongest(self, n: int = 10, part: PartName | None = None) -> list[PartOfLogit]:
        """The parts with the largest mean values, up or down."""
        means = [
            PartOfLogit(one.part, one.kind, one.layer, one.head, float(value))
            for one, value in zip(self.parts, self.intervals.difference, strict=True)
            if part in (None, one.part)
        ]
        return sorted(means, key=lambda one: -abs(one.value))[:n]

    def of(self, layer: int, head: int, kind: str | None = None) -> Floats:
        """n: what one head added to each prompt's answer."""
        for one, values in zip(self.parts, self.values, strict=True):
            if (one.layer, one.head) == (layer, head) and kind in (None, one.kind):
                return values
        raise BadInput(f"There is no head {layer}-{head} among the parts.")

    def plot(self, name: str | None = None, kind: str | None = None) -> Figure:
        """The parts that pushed the answers up and down on average, as bars."""
        from headscope.figures.attribution_bars import attribution_bars

        if name is not None and name != "logit":
            return super().plot(name, kind)
        shown = self.strongest(BARS)
        return attribution_bars(
            [(one.label, one.part, one.value) for one in shown],
            title=self.title,
            caption=f"{self.model} · mean over {len(self.prompts)} prompts",
            rest=float(self.value.mean()) - sum(one.value for one in shown),
        )


def _frame(parts: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(
        {
            "kind": [one.kind for one in parts],
            "layer": pd.array([one.layer for one in parts], dtype="Int64"),
            "head": pd.array([one.head for one in parts], dtype="Int64"),
            "part": [one.part for one in parts],
        }
    )


def _of_position(values: Floats) -> Differences:
    """Means of e n values over n prompts with t-intervals; untested."""
    low, high = mean_interval(values)
    none = np.full_like(low, np.nan)
    return Differences(values.mean(1), low, high, none, none, none)


def _columns(of: Differences) -> dict[str, Floats]:
    return {
        "value": of.difference, "error": of.error, "low": of.low, "high": of.high,
        "p": of.p, "p_holm": of.p_holm, "p_bh": of.p_bh,
    }  # fmt: skip
