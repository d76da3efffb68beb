"""Gradient importance: whether attention to a token changes the model's predictions."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headscope.statistics.features.feature import Feature, KeyFeature
from headscope.statistics.features.grid import SEP, SPECIAL, Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic

if TYPE_CHECKING:
    from headscope.reading import Scope


class _GradientImportance(Statistic):
    unit = "loss per unit of attention"
    bounds = (0.0, float("inf"))
    kinds = ("encoder", "decoder", "cross")
    source = "gradient"
    standard = False
    paper = "Clark et al. 2019, section 3.2 (figure 3)"

    @abstractmethod
    def keys(self, grid: Grid) -> Tensor:
        """b s bool: the keys that count."""

    def features(self) -> tuple[str | Feature, ...]:
        return (KeyFeature(self.name, self.keys),)

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        count = self.keys(grid).sum(1).double()
        return rows.mean(self.name) / torch.where(count > 0, count, torch.nan)[:, None]

    def unavailable(self, scope: Scope) -> str | None:
        from headscope.errors import BadInput
        from headscope.statistics.kernels.gradients import word_logits

        try:
            tokens = torch.tensor([[1, 2, 3, 2]], device=scope.device)
            extra = {"decoder_input_ids": tokens} if scope.encoder_decoder else {}
            word_logits(scope, scope.forward({"input_ids": tokens, **extra}))
        except BadInput as error:
            return str(error)
        return None


class GradientSep(_GradientImportance):
    """How much the loss depends on attention to `[SEP]`: the mean size of its gradient there.

    L is the masked-word loss of encoders (15 % of the words masked as in BERT's training), the
    next-token loss of decoders. It collapses where heads rest on `[SEP]` to do nothing. The paper
    states no scale; compare ratios.
    """

    name = "gradient_sep"
    title = "gradient at separators"
    formula = "mean over queries i and keys j ∈ [SEP] of |∂L/∂α_ij|"

    def keys(self, grid: Grid) -> Tensor:
        return grid.key.classes == SEP


class GradientPunctuation(_GradientImportance):
    """How much the loss depends on attention to full stops and commas.

    See `gradient_sep` for the loss.
    """

    name = "gradient_punctuation"
    title = "gradient at full stops and commas"
    formula = "mean over queries i and keys j ∈ {. ,} of |∂L/∂α_ij|"

    def keys(self, grid: Grid) -> Tensor:
        return grid.key.stops


class GradientAll(_GradientImportance):
    """How much the loss depends on attention anywhere.

    See `gradient_sep` for the loss.
    """

    name = "gradient_all"
    title = "gradient everywhere"
    formula = "mean over queries i and keys j that are not masked of |∂L/∂α_ij|"

    def keys(self, grid: Grid) -> Tensor:
        return grid.key.valid & (grid.key.classes != SPECIAL)
