"""Attention weighted by value norms: whether a head uses the tokens it attends to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from headscope.capture import Call
from headscope.capture.output_projection import head_norms, output_projection
from headscope.errors import HeadscopeError
from headscope.statistics.features.feature import ValueFeature
from headscope.statistics.features.grid import CLS, SEP, Grid
from headscope.statistics.statistic import Statistic

if TYPE_CHECKING:
    from headscope.reading import Scope


def norms(grid: Grid, call: Call) -> Tensor:
    """b h s: ‖f_h(x_j)‖, the length of the vector that a head would move from each key."""
    assert grid.model is not None
    if call.v is None:
        raise HeadscopeError(
            f"The values of {type(call.module).__name__} cannot be read on this text, so value "
            "norms cannot be measured; leave the norm statistics out."
        )
    width = call.heads * call.v.shape[-1]
    weight = output_projection(grid.model, call.module, width)
    if weight is None:
        raise HeadscopeError(
            f"The output projection of {type(call.module).__name__} could not be found, so value "
            "norms cannot be measured; leave the norm statistics out."
        )
    return head_norms(weight, call.v, call.heads)


class _ValueNorm(Statistic):
    unit = "norm"
    bounds = (0.0, float("inf"))
    standard = False
    of_one_text = False
    paper = "Kobayashi et al. 2020"
    needs = "values and the output projection"

    def unavailable(self, scope: Scope) -> str | None:
        if not scope.description.reads_values:
            return f"The values of {scope.name} cannot be read, so value norms are not measured."
        return None


class NormAll(_ValueNorm):
    """How much a head moves in all: the length of what it takes, summed over the keys.

    f_h(x) = (x W_V + b_V) W_O for head h; the measure the other norms are read by.
    """

    name = "norm_all"
    title = "norm of what is moved"
    formula = "mean_i Σ_j ‖α_ij f_h(x_j)‖"
    feature = ValueFeature("norm_all", norms)


class NormCls(_ValueNorm):
    """How much a head takes from `[CLS]`; see `norm_all`."""

    name = "norm_cls"
    title = "norm from the opening token"
    formula = "mean_i Σ_(j ∈ [CLS]) ‖α_ij f_h(x_j)‖"
    feature = ValueFeature(
        "norm_cls", lambda grid, call: norms(grid, call) * (grid.key.classes == CLS)[:, None]
    )


class NormSep(_ValueNorm):
    """How much a head takes from `[SEP]`; see `norm_all`.

    A head with a large `sep` and a small `norm_sep` rests on `[SEP]`: it looks and takes nothing.
    """

    name = "norm_sep"
    title = "norm from separators"
    formula = "mean_i Σ_(j ∈ [SEP]) ‖α_ij f_h(x_j)‖"
    feature = ValueFeature(
        "norm_sep", lambda grid, call: norms(grid, call) * (grid.key.classes == SEP)[:, None]
    )


class NormPunctuation(_ValueNorm):
    """How much a head takes from full stops and commas; see `norm_all`."""

    name = "norm_punctuation"
    title = "norm from full stops and commas"
    formula = "mean_i Σ_(j ∈ {. ,}) ‖α_ij f_h(x_j)‖"
    feature = ValueFeature(
        "norm_punctuation", lambda grid, call: norms(grid, call) * grid.key.stops[:, None]
    )


class NormFirst(_ValueNorm):
    """How much a head takes from the first token; see `norm_all`.

    The decoder's counterpart of `norm_sep`: sinks have a large `sink` and a small `norm_first`.
    """

    name = "norm_first"
    title = "norm from the first token"
    formula = "mean_i ‖α_i0 f_h(x_0)‖"
    feature = ValueFeature("norm_first", lambda grid, call: _first(grid, call))


def _first(grid: Grid, call: Call) -> Tensor:
    made = norms(grid, call)
    first = made.new_zeros(made.shape[0], made.shape[2])
    first.scatter_(1, grid.key.start[:, None], 1.0)
    return made * first[:, None]
