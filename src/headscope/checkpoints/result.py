"""Heads over training: every measure of every head at every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.capture import Kind
from headscope.checkpoints.change import change_point, stays_from
from headscope.errors import BadInput
from headscope.results import HeadResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

HEAD = ["kind", "layer", "head"]
NAMED = 12  # lines with a name


@dataclass(frozen=True, eq=False, repr=False)
class OverCheckpoints(HeadResult):
    """`steps` has a row per step, head and measure; `table` is the last step's part of it.

    `labels` has a row per step, head and label that holds there.
    """

    models: tuple[str, ...]
    step_numbers: tuple[int, ...]
    table: pd.DataFrame  # pyright: ignore[reportIncompatibleMethodOverride]
    steps: pd.DataFrame
    labels: pd.DataFrame

    @property
    def title(self) -> str:
        return f"Heads of {len(self.models)} checkpoints, steps {self.step_numbers[0]} to " + str(
            self.step_numbers[-1]
        )

    def series(self, name: str, layer: int, head: int, kind: str | None = None) -> pd.Series:
        """One head's measure by step."""
        wide = self._wide(name, kind)
        if (layer, head) not in wide.columns:
            raise self._no_head(layer, head)
        found: Any = wide[layer, head]
        return found

    def changes(self, name: str, kind: str | None = None, seed: int = 0) -> pd.DataFrame:
        """When each head's measure goes from one level to another.

        Parameters
        ----------
        name
            The measure.
        kind
            The attention that is meant; the first one measured if left out.
        seed
            Of the resampled residuals behind the intervals.

        Returns
        -------
        pandas.DataFrame
            layer, head, step (the first of the new level), its 95 % interval (low, high), the steps
            at which a tenth and nine tenths of the rise are reached (begins, ends), both levels
            (before, after) and their difference (rise), the largest first.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        wide: Any = self._wide(name, kind)
        at = np.array(self.step_numbers, float)
        for layer, head in wide.columns:
            found = change_point(at, wide[layer, head].to_numpy(float), seed)
            if found is not None:
                rows.append(
                    {
                        "layer": int(layer),
                        "head": int(head),
                        "step": found.step,
                        "low": found.low,
                        "high": found.high,
                        "begins": found.begins,
                        "ends": found.ends,
                        "before": found.before,
                        "after": found.after,
                        "rise": found.after - found.before,
                    }
                )
        columns = [
            "layer",
            "head",
            "step",
            "low",
            "high",
            "begins",
            "ends",
            "before",
            "after",
            "rise",
        ]
        # whole numbers, of which those that are not known are missing
        whole = dict.fromkeys(("step", "low", "high", "begins", "ends"), "Int64")
        frame = pd.DataFrame(rows, columns=columns).astype(whole)
        return frame.sort_values("rise", ascending=False, key=np.abs).reset_index(drop=True)

    def appears(self) -> pd.DataFrame:
        """From which step on each label of the last checkpoint holds without a break."""
        import pandas as pd

        at = np.array(self.step_numbers, float)
        every: Any = self.labels
        rows: list[dict[str, Any]] = []
        last = every[every["step"] == self.step_numbers[-1]]
        for kind, layer, head, label in last[[*HEAD, "label"]].itertuples(index=False):
            same = every[
                (every["kind"] == kind)
                & (every["layer"] == layer)
                & (every["head"] == head)
                & (every["label"] == label)
            ]
            holds: NDArray[np.bool_] = np.isin(at, same["step"])
            step = stays_from(at, holds)
            rows.append({"kind": kind, "layer": layer, "head": head, "label": label, "step": step})
        return pd.DataFrame(rows, columns=[*HEAD, "label", "step"]).astype({"step": "Int64"})

    def similarity(self) -> pd.DataFrame:
        """How alike each head is to itself one checkpoint earlier, by all its measures.

        Measures are scaled over all heads and steps; the value is the correlation across them.
        """
        import pandas as pd

        wide: Any = self.steps.pivot_table("value", ["step", *HEAD], "measure")
        scaled = (wide - wide.mean()) / wide.std().replace(0, np.nan)
        scaled = scaled.dropna(axis=1, how="all").fillna(0.0)
        rows: list[dict[str, Any]] = []
        for before, after in zip(self.step_numbers[:-1], self.step_numbers[1:], strict=True):
            one, two = scaled.loc[before], scaled.loc[after]
            for place in one.index.intersection(two.index):
                a, b = one.loc[place].to_numpy(), two.loc[place].to_numpy()
                size = float(np.linalg.norm(a) * np.linalg.norm(b))
                alike = float(a @ b) / size if size else float("nan")
                rows.append({"step": after, **dict(zip(HEAD, place, strict=True)), "value": alike})
        return pd.DataFrame(rows, columns=["step", *HEAD, "value"])

    def examples(
        self,
        corpus: Any,
        layer: int,
        head: int,
        *,
        steps: Sequence[int] | None = None,
        n: int = 5,
        kind: Kind | None = None,
        limit: int = 64,
        device: str | None = None,
        dtype: str | None = None,
    ) -> pd.DataFrame:
        """What a head looks at then and now, where that changed most: one position of a text each.

        Parameters
        ----------
        corpus
            The texts, as they were measured.
        layer, head
            The head.
        steps
            Which checkpoints; the first and the last if left out.
        n
            How many examples.
        kind
            The attention that is meant; the model's own if it has one kind.
        limit
            How many texts are read with each of these checkpoints.
        device
            Where checkpoints run, such as "cuda".
        dtype
            Precision of their weights, such as "bfloat16".

        Returns
        -------
        pandas.DataFrame
            A row per example and step: rank, document, query, query_token, step, the key with the
            largest weight (key, key_token, weight), changed (the share of attention that moved
            between the first and the last step), and text: query in [[ ]], key in << >>.
        """
        from headscope.checkpoints.examples import then_and_now

        if (layer, head) not in set(zip(self.table["layer"], self.table["head"], strict=True)):
            raise self._no_head(layer, head)
        chosen = sorted(steps or (self.step_numbers[0], self.step_numbers[-1]))
        for step in chosen:
            self._check(step)
        known = dict(zip(self.step_numbers, self.models, strict=True))
        return then_and_now(
            {step: known[step] for step in chosen}, corpus, layer, head, n, kind, limit,
            device=device, dtype=dtype,
        )  # fmt: skip

    def scatter(self, step: int, x: str, y: str, kind: Kind | None = None) -> Figure:
        """Every head at one step by two measures; axes are those of all steps."""
        from headscope.figures.of_heads.head_scatter import Axis, Points, measured_scatter

        across, up = (self._wide(name, kind) for name in (x, y))
        self._check(step)
        heads: Any = across.columns.intersection(up.columns)
        of: Any = str(self.rows(x, kind)["kind"].iloc[0])
        every: Any = self.labels
        here = every[(every["step"] == step) & (every["kind"] == of)]
        labelled = set(zip(here["layer"], here["head"], strict=True))
        points = Points(
            Axis(x, across.loc[step, heads].to_numpy(float)),
            Axis(y, up.loc[step, heads].to_numpy(float)),
            [f"{layer}-{head}" for layer, head in heads],
            [place in labelled for place in heads],
            [False] * len(heads),
            Axis("layer", np.array([layer for layer, _ in heads], float)),
        )
        figure = measured_scatter(points, title=f"step {step}")
        for set_limits, wide in ((figure.axes[0].set_xlim, across), (figure.axes[0].set_ylim, up)):
            low, high = float(np.nanmin(wide)), float(np.nanmax(wide))
            room = 0.05 * ((high - low) or 1.0)
            set_limits(low - room, high + room)
        return figure

    def plot(self, name: str | None = None, kind: str | None = None) -> Figure:
        """A line per head over the steps, with the change point of the head that changes most."""
        from headscope.figures.curves import Panel, curves

        name = name if name is not None else self.measures[0]
        wide: Any = self._wide(name, kind)
        order = (wide.max() - wide.min()).sort_values(ascending=False).index
        at = np.array(self.step_numbers, float)
        lines = {
            f"{layer}-{head}": (at, wide[layer, head].to_numpy(float))
            for layer, head in order[:NAMED]
        }
        found: Any = self.changes(name, kind)
        marks = [float(found["step"].iloc[0])] if len(found) else []
        return curves(
            [Panel(name, lines, marks=marks)], "step", title=self.title, height=2.4,
            logarithmic=True,
        )  # fmt: skip

    def _check(self, step: int) -> None:
        if step not in self.step_numbers:
            raise BadInput(f"There is no step {step}; the steps are {self.step_numbers}.")

    def _no_head(self, layer: int, head: int) -> BadInput:
        last = self.table[["layer", "head"]].max()
        return BadInput(
            f"There is no head {layer}-{head}; the checkpoints have layers 0 to {last['layer']} "
            f"and heads 0 to {last['head']}."
        )

    def _wide(self, name: str, kind: str | None) -> pd.DataFrame:
        """step × (layer, head)."""
        rows = self.rows(name, kind)  # raises where there is none
        chosen = str(rows["kind"].iloc[0])
        every: Any = self.steps
        every = every[(every["measure"] == name) & (every["kind"] == chosen)]
        wide = every.pivot_table("value", "step", ["layer", "head"], dropna=False)
        return wide.reindex(self.step_numbers)
