"""The recorder: a sink that turns every call of a forward pass into row features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headscope.capture import Call, Kind, Output
from headscope.statistics.features.feature import Feature
from headscope.statistics.features.grid import Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.kernels import blocks
from headscope.statistics.kernels.blocks import Plan
from headscope.statistics.kernels.scores import can_rebuild
from headscope.statistics.kernels.usable import attempt, kernels_run_on

if TYPE_CHECKING:
    from headscope.statistics.kernels.row_launch import Slots

CanRebuild = Callable[[Call], bool]
MOST_KEPT = 2**30  # weights of rows kept from a pass: 4 GB


class Recorder:
    """Use it in a lazy door: calls that it can rebuild never have all their maps in memory."""

    def __init__(
        self,
        grids: Mapping[Kind, Grid],
        features: Mapping[Kind, Iterable[Feature]],
        rebuildable: CanRebuild,
    ) -> None:
        self._plans = {kind: Plan(grids[kind], features.get(kind, ())) for kind in grids}
        self._rebuildable = rebuildable
        self._heads: dict[Kind, list[tuple[int, int]]] = {kind: [] for kind in grids}
        self._values: dict[Kind, list[Tensor]] = {kind: [] for kind in grids}
        self._wide: dict[Kind, dict[str, list[Tensor]]] = {kind: {} for kind in grids}
        self._rows: dict[Kind, Rows] = {}
        self._slots: dict[Kind, Slots] = {}  # rows whose weights a kernel must keep
        self.kept_rows: dict[Kind, list[Tensor]] = {}  # h n s of every call whose rows were kept

    def __call__(self, call: Call, kept: Tensor | None = None) -> Output | None:
        """`kept` (b h t s, on a processor) receives the weights of a rebuilt call."""
        plan = self._plans.get(call.kind)
        if plan is None:
            return None
        output = None
        if self.rebuilds(call):
            if kept is None:
                reduced, tensor = self._compute(call, plan)
            else:
                reduced, tensor = blocks.from_scores(call, plan, kept)
            output = Output(tensor)
        else:
            reduced = blocks.from_weights(call, plan, call.weights)
        self._keep(call, reduced)
        return output

    def rebuilds(self, call: Call) -> bool:
        """Whether this call's weights are computed here in blocks instead of by the model."""
        return can_rebuild(call) and self._rebuildable(call)

    def record(self, call: Call, weights: Tensor) -> None:
        """Record the features of other numbers of a call's shape, such as a gradient."""
        plan = self._plans.get(call.kind)
        if plan is not None:
            self._keep(call, blocks.from_weights(call, plan, weights))

    def keep_rows(self, kind: Kind, documents: Tensor, queries: Tensor) -> None:
        """Request the weights of single rows (`kept_rows`), if a kernel can keep them."""
        from headscope.statistics.kernels.row_launch import slots_of

        self._slots[kind] = slots_of(self._plans[kind].grid, documents, queries)

    def _keep_weights(self, kind: Kind, kept: Tensor) -> None:
        every = self.kept_rows.setdefault(kind, [])
        every.append(kept)
        if len(every) * kept.numel() > MOST_KEPT:  # they are computed again, some at a time
            del self._slots[kind], self.kept_rows[kind]

    def rows(self, kind: Kind) -> Rows:
        """The records of one kind of attention, all layers side by side."""
        if kind not in self._rows:
            plan = self._plans[kind]
            values = torch.cat(self._values[kind], dim=1)
            self._values[kind].clear()  # they are in `values` now
            wide = {name: torch.cat(parts, dim=1) for name, parts in self._wide[kind].items()}
            self._rows[kind] = Rows(plan.grid, self._heads[kind], plan.names, values, wide)
        return self._rows[kind]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(kind for kind, heads in self._heads.items() if heads)

    def _compute(self, call: Call, plan: Plan) -> tuple[blocks.Reduced, Tensor]:
        assert call.q is not None
        if not kernels_run_on(call.q):
            return blocks.from_scores(call, plan)
        from headscope.statistics.kernels import row_launch, survey_launch

        made = None
        if survey_launch.suits(call, plan):
            made = attempt("survey", lambda: survey_launch.from_scores(call, plan))
        elif row_launch.suits(call, plan):
            made = attempt("row", lambda: self._whole_rows(call, plan))
        return blocks.from_scores(call, plan) if made is None else made

    def _whole_rows(self, call: Call, plan: Plan) -> tuple[blocks.Reduced, Tensor]:
        from headscope.statistics.kernels import row_launch

        slots = self._slots.get(call.kind)
        reduced, output, kept = row_launch.from_scores(call, plan, slots)
        if kept is not None:
            self._keep_weights(call.kind, kept)
        return reduced, output

    @property
    def lost(self) -> tuple[list[int], Tensor]:
        """The layers of all heads, and for each head whether a row of its weights has NaN."""
        layers: list[int] = []
        flags: list[Tensor] = []
        for kind in self.kinds:
            names = self._plans[kind].names
            if not names:
                continue
            # a NaN weight makes its row's features NaN; one feature suffices, except a share of
            # keys that the text lacks
            tells = next((name for name in ("entropy", "distance") if name in names), names[0])
            lost = self.rows(kind)[tells].isnan()  # b H t
            lost = lost & self._plans[kind].grid.query.valid[:, None]
            flags.append(lost.any(dim=2).any(dim=0))
            layers += [layer for layer, _ in self._heads[kind]]
        return layers, torch.cat(flags) if flags else torch.zeros(0)

    def _keep(self, call: Call, reduced: blocks.Reduced) -> None:
        heads = reduced.values.shape[1]
        self._heads[call.kind] += [(call.layer, head) for head in range(heads)]
        self._values[call.kind].append(reduced.values)
        for name, part in reduced.wide.items():
            self._wide[call.kind].setdefault(name, []).append(part)
