"""Shares of attention that go to one kind of token."""

from __future__ import annotations

import torch
from torch import Tensor

from headscope.statistics.features.feature import Feature, KeyFeature
from headscope.statistics.features.grid import CLS, PUNCTUATION, SEP, Grid
from headscope.statistics.features.rows import Rows
from headscope.statistics.statistic import Statistic, undefined_unless


class Cls(Statistic):
    """Share of attention that goes to `[CLS]` tokens.

    Other tokenizers' tokens of the same role count (`<s>`, a decoder's begin-of-text); undefined
    for texts without one. The paper's share, over all queries of any attention; `delimiter_cls` has
    a test of chance, and leaves out queries without another key.
    """

    name = "cls"
    title = "opening token"
    formula = "Σ_i Σ_(j ∈ [CLS]) α_ij / n"
    paper = "Clark et al. 2019, section 3.2 (figure 2)"
    needs = "a `[CLS]` or its like"
    unit = "share"
    feature = "cls"

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        return undefined_unless((grid.key.classes == CLS).any(1), rows.mean("cls"))


class Sep(Statistic):
    """Share of attention that goes to `[SEP]` tokens.

    Other tokenizers' tokens of the same role count (`</s>`, end-of-text); undefined for texts
    without one. The paper's share of all separators together; `delimiter_sep1` and `delimiter_sep2`
    test each against chance.
    """

    name = "sep"
    title = "separators"
    formula = "Σ_i Σ_(j ∈ [SEP]) α_ij / n"
    paper = "Clark et al. 2019, section 3.2 (figure 2)"
    needs = "a `[SEP]` or its like"
    unit = "share"
    feature = "sep"

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        return undefined_unless((grid.key.classes == SEP).any(1), rows.mean("sep"))


class SepToSep(Statistic):
    """Share of the attention of `[SEP]` tokens that goes to `[SEP]` tokens, themselves included."""

    name = "sep_sep"
    title = "separators, from separators"
    formula = "mean over i ∈ [SEP] of Σ_(j ∈ [SEP]) α_ij"
    paper = "Clark et al. 2019, section 3.2"
    of_one_text = False
    needs = "a `[SEP]` or its like"
    unit = "share"
    feature = "sep"
    queries = "sep"


class RestToSep(Statistic):
    """Share of the attention of all other tokens that goes to `[SEP]` tokens.

    Undefined for texts without a `[SEP]`.
    """

    name = "rest_sep"
    title = "separators, from all other tokens"
    formula = "mean over i ∉ [SEP] of Σ_(j ∈ [SEP]) α_ij"
    paper = "Clark et al. 2019, section 3.2"
    of_one_text = False
    needs = "a `[SEP]` or its like"
    unit = "share"
    feature = "sep"

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        return undefined_unless(
            (grid.key.classes == SEP).any(1), rows.mean("sep", queries="not_sep")
        )


class Punctuation(Statistic):
    """Share of attention that goes to full stops and commas.

    Those two signs alone, as in the paper.
    """

    name = "punctuation"
    title = "full stops and commas"
    formula = "Σ_i Σ_(j ∈ {. ,}) α_ij / n"
    paper = "Clark et al. 2019, section 3.2 (figure 2)"
    unit = "share"
    feature = "stops"


class SpecialTokens(Statistic):
    """Share of attention that goes to special tokens, where `delimiter` is not defined.

    That pattern is for texts that are read both ways; this is for causal and cross attention.
    """

    name = "special_tokens"
    title = "special tokens"
    formula = "Σ_i Σ_(j special) α_ij / n"
    paper = "Clark et al. 2019, section 3.2"
    standard = False  # `cls` and `sep` say which
    unit = "share"
    kinds = ("decoder", "cross")
    feature = KeyFeature(
        "any_special", lambda grid: grid.key.valid & (grid.key.classes < PUNCTUATION), True
    )


class SinkRate(Statistic):
    """Share of documents in which the head's mean attention to the first token exceeds 0.3.

    With their threshold; averaged over heads it is their Sink_1. It counts documents; `sink` is the
    mean weight itself, from the fifth query on.
    """

    name = "sink_rate"
    title = "documents with a sink"
    formula = "mean over documents of [mean_i α_(i,0) > 0.3]"
    paper = "Gu et al. 2024"
    of_one_text = False
    unit = "share of documents"
    feature = "first"

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        return (rows.mean("first") > 0.3).double()


class CrossSentence(Statistic):
    """Share of attention that goes to the other sentence of a pair, its special tokens included.

    What a head must do to compare two sentences. Undefined for single texts.
    """

    name = "cross_sentence"
    title = "other sentence"
    formula = "Σ_i Σ_(s_j ≠ s_i) α_ij / n"
    paper = "Vig 2019; Kovaleva et al. 2019"
    needs = "a sentence pair"
    unit = "share"

    def features(self) -> tuple[str | Feature, ...]:
        return ("sentence_a", "sentence_b")

    def measure(self, rows: Rows, grid: Grid) -> Tensor:
        in_b = grid.query.segments == 1
        across = torch.where(in_b[:, None], rows["sentence_a"], rows["sentence_b"])
        return undefined_unless(in_b.any(1), rows.mean_of(across))
