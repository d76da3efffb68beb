"""A budget: what each key-value head needs of the cache, as numbers, a curve and a list."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from headscope.budgets.heads import Head, KeyValueHeads
from headscope.edits.disable import KeyValueHead
from headscope.errors import BadInput
from headscope.results import HeadResult, tidy
from headscope.statistics.significance import FEWEST
from headscope.tasks.metrics import rank_correlation

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from headscope.budgets.run import Asked
    from headscope.reading import Scope

Floats = NDArray[np.float64]
AT = (8_192, 32_768, 131_072)  # tokens that memory is reported at


@dataclass(frozen=True, eq=False, repr=False)
class Budget(HeadResult):
    """Costs per key-value head, the order to restrict them in, and the recommended set.

    `table` has a row per key-value head (`head`) and measure; `curve` one per set of heads that was
    restricted together. `order` begins with the head that costs least.
    """

    model: str
    sink: int
    window: int
    tolerance: float
    max_tokens: int
    key_value_heads: KeyValueHeads
    order: tuple[Head, ...]
    by_estimate: tuple[Head, ...]  # the order by the gate's slopes
    agreement: float  # rank correlation of exact costs and estimates
    table: pd.DataFrame  # pyright: ignore[reportIncompatibleMethodOverride]
    curve: pd.DataFrame
    recommended: tuple[Head, ...] = ()

    holds: ClassVar[tuple[type, ...]] = (KeyValueHeads,)

    def __post_init__(self) -> None:
        for name in ("order", "by_estimate", "recommended"):  # not to be taken for query heads
            heads = tuple(KeyValueHead(*head) for head in getattr(self, name))
            object.__setattr__(self, name, heads)

    @property
    def title(self) -> str:
        return f"Key-value heads of {self.model} with sink {self.sink} and window {self.window}"

    def heads(self, share: float | None = None) -> tuple[Head, ...]:
        """The key-value heads to restrict: the recommended ones, or a share in their order."""
        if share is None:
            return self.recommended
        if not 0 <= share <= 1:
            raise BadInput(f"share= is between 0 and 1, not {share!r}.")
        return self.order[: round(share * len(self.order))]

    def query_heads(self, heads: Sequence[Head]) -> tuple[Head, ...]:
        """The query heads that share these key-value heads, for edits and measures of heads.

        Parameters
        ----------
        heads
            Key-value heads as (layer, head), such as `order[-8:]`.

        Returns
        -------
        tuple
            Query heads as (layer, head).
        """
        known = self.key_value_heads
        for head in heads:
            if not isinstance(head, tuple | list) or tuple(head) not in known.every:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise BadInput(
                    f"There is no key-value head {head!r}; layers have {known.groups} each."
                )
        return tuple((layer, query) for layer, group in heads for query in known.queries(group))

    def restrict(self, scope: Scope, share: float | None = None) -> Scope:
        """A scope whose chosen heads see sink and window alone.

        Parameters
        ----------
        scope
            The model the budget was made of.
        share
            How many heads, in the order of their costs; the recommended ones if left out.

        Returns
        -------
        Scope
        """
        known, heads = self.key_value_heads, self.heads(share)
        count = known.groups * known.per_group
        if scope.heads.get("decoder") != count or scope.layer_numbers["decoder"] != known.layers:
            raise BadInput(
                f"The budget was made for {self.model}, whose heads differ from those of "
                f"{scope.name}; make one for this model."
            )
        return scope.edited(known.edit(heads, self.sink, self.window)) if heads else scope

    def memory(self, tokens: int, share: float | None = None) -> int:
        """Bytes of a 16-bit key-value cache for so many tokens."""
        return self.key_value_heads.memory(tokens, self.heads(share), self.sink + self.window)

    def plot(self, name: str | None = None, kind: str | None = None) -> Figure:
        """The curve; a measure's name draws its map of heads, and "heads" the recommended set."""
        if name is not None and name != "heads":
            return super().plot(name, kind)
        if name == "heads":
            from headscope.figures import layer_head_map

            return layer_head_map(
                self.map("cost").to_numpy(), f"{self.model}: recommended heads outlined",
                "nats a token", diverging=True, mark=list(self.recommended), less_is_better=True,
            )  # fmt: skip
        return self._curve()

    def _curve(self) -> Figure:
        from headscope.figures.curves import Panel, curves

        rows: Any = self.curve
        main = rows[(rows["texts"] == "chosen") & (rows["order"] == "exact")]
        held = {
            f"{order}, held out": rows[(rows["texts"] == "held out") & (rows["order"] == order)]
            for order in ("exact", "gate", "random")
        }

        def panel(column: str, label: str, level: float | None) -> Panel:
            at = main["share"].to_numpy()
            bands = {"exact": (main["low"].to_numpy(), main["high"].to_numpy())}
            return Panel(
                label,
                {"exact": (at, main[column].to_numpy())},
                bands if column == "rise" and main["low"].notna().all() else {},
                {
                    name: (some["share"].to_numpy(), some[column].to_numpy())
                    for name, some in held.items()
                    if len(some)
                },
                level,
            )

        saved = {
            f"memory at {tokens // 1024}k tokens": (
                main["share"].to_numpy(),
                1 - main[f"saved_{tokens // 1024}k"].to_numpy(),
            )
            for tokens in AT
        }
        return curves(
            [
                panel("rise", "loss rises by (nats)", self.tolerance),
                panel("kept", "needles kept", 0.95),
                Panel("share of cache", saved),
            ],
            "share of key-value heads restricted",
            title=self.title,
        )

    def to_json(self, path: str | Path, share: float | None = None) -> None:
        """Write the recommended set, or a share of the heads, and all costs as plain JSON."""
        from headscope.budgets.exports import write_heads

        write_heads(self, path, share)

    def to_duo_attention(self, folder: str | Path, share: float | None = None) -> None:
        """Write DuoAttention's files: full_attention_heads.tsv and config.json."""
        from headscope.budgets.exports import write_duo_attention

        write_duo_attention(self, folder, share)

    def to_kvpress(self, share: float | None = None) -> Any:
        """A press of kvpress that restricts these heads: `with budget.to_kvpress()(model): …`."""
        from headscope.budgets.exports import press

        return press(self.key_value_heads, self.heads(share), self.sink, self.window)


def budget_of(
    model: str,
    heads: KeyValueHeads,
    chosen: Sequence[Head],
    sizes: tuple[int, int],
    tolerance: float,
    tokens: int,
    asked: Asked,
    alone: Sequence[Floats],  # e n 2 and e n 3: answers with each head restricted
    estimate: Floats,
    outside: Floats,
    ends: tuple[int, ...],
    retrieval: Floats,
) -> Budget:
    """The table of costs and the orders; the curve comes later."""
    import pandas as pd

    rows: list[dict[str, Any]] = []

    def add(measure: str, layer: int, group: int, value: float, count: int, **more: float) -> None:
        rows.append(
            {"layer": layer, "head": group, "measure": measure, "value": value, "count": count}
            | more
        )

    by_head = {head: (alone[0][n], alone[1][n]) for n, head in enumerate(chosen)}
    costs: dict[Head, float] = {}
    texts, needles = len(asked.loss), len(asked.found)
    for layer, group in heads.every:
        lost = (0.0, 0.0, 0.0)
        missed = lost
        if (layer, group) in by_head:
            lost = rise(asked.loss, by_head[layer, group][0])
            missed = rise(asked.found, by_head[layer, group][1])
            costs[layer, group] = lost[0] + missed[0]
        cost = costs.get((layer, group), 0.0)
        add("cost", layer, group, cost, texts + needles)
        add("loss_cost", layer, group, lost[0], texts, low=lost[1], high=lost[2])
        add("needle_cost", layer, group, missed[0], needles, low=missed[1], high=missed[2])
        add("estimate", layer, group, float(estimate[layer, group]), texts + needles)
        add("retrieval", layer, group, float(retrieval[layer, group]), needles)
        add("outside", layer, group, float(outside[-1, layer, group]), texts)
        for number, end in enumerate(ends):
            value = float(outside[number, layer, group])
            add(f"outside_{end}", layer, group, value, texts)
    guessed = {head: float(estimate[head]) for head in chosen}
    order = sorted(chosen, key=lambda head: costs[head])
    exact = np.array([costs[head] for head in chosen])
    return Budget(
        model=model,
        sink=sizes[0],
        window=sizes[1],
        tolerance=tolerance,
        max_tokens=tokens,
        key_value_heads=heads,
        order=tuple(order),
        by_estimate=tuple(sorted(chosen, key=lambda head: guessed[head])),
        agreement=rank_correlation(exact, np.array([guessed[head] for head in chosen])),
        table=tidy(pd.DataFrame(rows), kind="decoder"),
        curve=pd.DataFrame(),
    )


def rise(before: Floats, after: Floats) -> tuple[float, float, float]:
    """The rise of a token's loss, with its 95 % interval over texts.

    Each text has a row: its summed loss and its number of tokens. A long text weighs more, so
    there are fewer effective texts, 1 / Σ share², than texts; residuals are those
    of the other texts (HC3).
    """
    more, share = after[:, 0] - before[:, 0], before[:, 1] / before[:, 1].sum()
    whole = float(more.sum() / before[:, 1].sum())
    if len(more) < FEWEST:
        return whole, float("nan"), float("nan")
    left = more / before[:, 1].sum() - whole * share
    error = np.sqrt(((left / (1 - share)) ** 2).sum())
    reach = float(stats.t.ppf(0.975, 1 / (share**2).sum() - 1) * error)
    return whole, whole - reach, whole + reach


def share_kept(counts: NDArray[np.bool_], found: Floats) -> float:
    """The share of kept needles among those the model finds; NaN if it finds none."""
    return float((found[counts, 2] > 0).mean()) if counts.any() else float("nan")


def memory_of(known: KeyValueHeads, chosen: Sequence[Head], kept: int) -> dict[str, float]:
    """Bytes of the cache with these heads restricted, and the share saved, at each length."""
    found: dict[str, float] = {}
    for tokens in AT:
        left, whole = (known.memory(tokens, some, kept) for some in (chosen, ()))
        found[f"memory_{tokens // 1024}k"] = left
        found[f"saved_{tokens // 1024}k"] = 1 - left / whole
    return found


def recommending(budget: Budget, rows: Sequence[dict[str, Any]], least: float) -> Budget:
    """Recommend the largest set within the tolerance that keeps its needles."""
    counts = [0]
    for row in rows:
        if row["rise"] <= budget.tolerance and not row["kept"] < least:
            counts.append(int(row["heads"]))
    return dataclasses.replace(budget, recommended=budget.order[: max(counts)])
