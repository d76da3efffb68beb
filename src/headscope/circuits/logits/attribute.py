"""Attribute: a prediction taken apart into what each head, MLP and embedding put into it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headscope.arguments import need_scope
from headscope.capture import Kind
from headscope.capture.output_projection import weight_of
from headscope.circuits.logits.attribution import Attribution, Floats, PartOfLogit, head_name
from headscope.circuits.logits.lens import logit_lens, promoted
from headscope.circuits.logits.target import (
    Question,
    Target,
    answer_labels,
    difference,
    logits_of,
    question,
    softcapped,
    target_ids,
)
from headscope.circuits.trace import Attended, Leaf, Trace, trace
from headscope.circuits.unrolled import unrolled
from headscope.circuits.wiring import Wiring, wiring
from headscope.errors import HeadscopeError
from headscope.interrupts import stopped_safely
from headscope.models.own_thread import only_here
from headscope.reading.predict import likeliest

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.text.tokenise import Text

SPEAKING = 12  # heads whose raised and lowered tokens are worked out
SHOWN = 5  # likeliest answers kept
LONG = 2048  # tokens from which on it is asked first which positions make a whole text's answer
MISSED, MISSED_IN_HALF = 1e-3, 5e-2  # of the largest part: what a sum may miss by
MOST_EDGES = 2**24  # of a layer; where more queries than that reach the answer, they are summed up


def attribute(
    scope: Scope,
    text: Text,
    text_pair: Text | None = None,
    *,
    target: Target = None,
    position: int | None = None,
    tokens: int = 8,
    lens: bool = True,
) -> Attribution:
    """Which heads, MLPs, embeddings and biases made a logit; their values sum to it.

    `target` is a token (or class), or two to be told apart: `("Paris", "London")`; the likeliest
    answer if left out. Decoders answer after the last token, masked-word models at their mask,
    classifiers for the whole text. With `tokens`, the strongest heads also get the tokens they
    raise and lower; with `lens`, what the model would say after every layer.
    """
    need_scope(scope)
    scope = unrolled(scope)
    found = wiring(scope)
    asked = question(scope, text, text_pair, position)
    solved = solve(scope, found, asked, target)
    parts, edges = _parts(found, solved)
    value = float(solved.answer.detach())
    explained = sum(part.value for part in parts)
    speaks = asked.output_layer is not None
    if speaks and "decoder" in scope.kinds:
        _check_sum(scope, parts, value - explained)
    strongest = sorted((p for p in parts if p.part == "head"), key=lambda p: -abs(p.value))
    heads = strongest[:SPEAKING] if tokens and speaks else []
    raised = promoted(scope, found, solved.traced, solved.logits, heads, tokens)
    seen, by_layer = logit_lens(scope, found, asked, solved) if lens else ((), ())
    return Attribution(
        model=scope.name,
        query=tuple(asked.query.labels),
        key=tuple(asked.key.labels),
        position=asked.position,
        target=answer_labels(scope, asked, solved.ids),
        value=value,
        likeliest=_likeliest(scope, asked, solved),
        parts=tuple(parts),
        unexplained=value - explained,
        note=_note(speaks, "decoder" in scope.kinds, solved.capped),
        rows_read=solved.rows.cpu().numpy(),
        edges=edges,
        promotes=raised,
        lens=seen,
        target_by_layer=by_layer,
    )


def _check_sum(scope: Scope, parts: list[PartOfLogit], missed: float) -> None:
    """A decoder's parts are its logit: where they are not, none of them can be trusted."""
    largest = max(abs(part.value) for part in parts)
    half = next(scope.model.parameters()).dtype not in (torch.float32, torch.float64)
    if abs(missed) > (MISSED_IN_HALF if half else MISSED) * largest:
        raise HeadscopeError(
            f"What the heads and MLPs of {scope.name} add does not sum to its logit (it misses by "
            f"{abs(missed) / largest:.1%} of the largest part): between them and "
            "the logit stands more than sums and linear maps, so it cannot be decomposed."
        )


class Solved:
    """The traced pass, the answer asked of it, and its slope at every leaf."""

    def __init__(self, traced: Trace, logits: Tensor, ids: list[int], capped: bool) -> None:
        self.traced, self.logits, self.ids, self.capped = traced, logits, ids, capped
        self.shown = logits  # what the model gives out, soft-capped where it is
        self.answer = difference(logits, ids)
        self.slopes: list[Tensor | None] = []
        self.biases: list[float] = []
        self.rows = torch.zeros(0, dtype=torch.long)

    def reached_from(self, at: int | None = None) -> bool:
        """Whether the slope at the embeddings is known and, with `at`, is zero but there."""
        every = zip(self.traced.leaves, self.slopes, strict=True)
        slope = next((slope for leaf, slope in every if leaf is self.traced.start), None)
        if slope is None or at is None:
            return slope is not None
        reaches = slope[0].abs().amax(-1) > 0
        reaches[at] = False
        return not bool(reaches.any())


def solve(scope: Scope, found: Wiring, asked: Question, target: Target) -> Solved:
    """The pass taken apart, keeping what reaches the answer: a word's is its own position's alone
    wherever all between the writers and the answer works position by position, which the slope
    of the embeddings tells."""
    at = asked.position
    if at is not None and asked.output_layer is not None:
        solved = _solved(scope, found, asked, target, torch.tensor([at]))
        if solved.reached_from(at):
            return solved
    elif len(asked.query) > LONG:  # the answer of a whole text: first, from which positions
        solved = _solved(scope, found, asked, target, torch.zeros(0, dtype=torch.long))
        if solved.reached_from() and len(solved.rows):
            return _solved(scope, found, asked, target, solved.rows)
    return _solved(scope, found, asked, target, None)


@stopped_safely()
@torch.enable_grad()
def _solved(
    scope: Scope, found: Wiring, asked: Question, target: Target, rows: Tensor | None
) -> Solved:
    before: list[Tensor] = []

    def keep(module: nn.Module, given: Any, output: Tensor) -> None:
        before.append(output)

    layer = asked.output_layer
    handle = None if layer is None else layer.register_forward_hook(only_here(keep))
    try:
        traced = trace(scope, found, asked.inputs, asked.position, layer, rows)
    finally:
        if handle is not None:
            handle.remove()
    shown = logits_of(scope, traced.output, layer is not None, asked.position)
    plain = before[-1][0, -1] if before else shown
    capped = bool(before) and softcapped(shown.detach(), plain.detach())
    logits = plain if capped else shown
    ids = target_ids(scope, asked, target, logits.detach())
    solved = Solved(traced, logits, ids, capped)
    solved.shown = shown.detach()
    outside = _outer_biases(scope.model, found)
    leaves = [leaf.value for leaf in traced.leaves]
    slopes: Any = torch.autograd.grad(
        solved.answer, [*leaves, *outside], allow_unused=True, retain_graph=True
    )
    solved.slopes = list(slopes[: len(leaves)])
    solved.biases = [
        float((slope * bias).sum().detach())
        for slope, bias in zip(slopes[len(leaves) :], outside, strict=True)
        if slope is not None
    ]
    solved.rows = _rows(traced.leaves, solved.slopes, rows)
    return solved


def _outer_biases(model: nn.Module, found: Wiring) -> list[Tensor]:
    """Biases between the last layer and the logits (those of norms are leaves already)."""
    inside = {id(part) for layer in found.stack.layers for part in layer.parameters()}
    inside |= {id(part) for norm in found.norms for part in norm.parameters()}
    return [
        bias
        for name, bias in model.named_parameters()
        if name.endswith("bias") and bias.dim() == 1 and id(bias) not in inside
        and bias.requires_grad
    ]  # fmt: skip


def _rows(leaves: list[Leaf], slopes: list[Tensor | None], kept: Tensor | None) -> Tensor:
    """The positions through which anything reaches the answer."""
    touched = [
        slope[0].abs().amax(-1) > 0
        for leaf, slope in zip(leaves, slopes, strict=True)
        if leaf.whole and slope is not None and slope.dim() == 3
    ]
    if kept is not None and len(kept):
        return kept.to(touched[0].device) if touched else kept
    return torch.stack(touched).any(0).nonzero().flatten()


def _parts(found: Wiring, solved: Solved) -> tuple[list[PartOfLogit], dict[str, Floats]]:
    parts: list[PartOfLogit] = []
    edges: dict[str, Floats] = {}
    bias = sum(solved.biases)
    mlps: dict[int, float] = {}
    for leaf, slope in zip(solved.traced.leaves, solved.slopes, strict=True):
        if slope is None:
            continue
        projection = None if leaf.module is None else found.projections.get(id(leaf.module))
        here, value = leaf.at(solved.rows, slope), leaf.at(solved.rows, leaf.value.detach())
        whole = float((here.double() * value.double()).sum())
        if leaf.module is None:
            if leaf.value.dim() == 1 or leaf.layer is not None:
                bias += whole
            else:
                parts.append(PartOfLogit("embedding", None, None, None, whole))
        elif projection is None or leaf.given is None:
            mlps[leaf.layer or 0] = mlps.get(leaf.layer or 0, 0.0) + whole
        else:
            kind, layer = projection.kind, projection.layer
            values, edge = _by_head(leaf, here, solved, kind, layer, projection.heads)
            parts += [
                PartOfLogit("head", kind, layer, head, value) for head, value in enumerate(values)
            ]
            bias += whole - sum(values)
            if edge is not None:
                edges[head_name(kind, layer)] = edge
    parts += [PartOfLogit("mlp", None, layer, None, value) for layer, value in mlps.items()]
    parts.append(PartOfLogit("bias", None, None, None, bias))
    return parts, edges


def _by_head(
    leaf: Leaf, slope: Tensor, solved: Solved, kind: Kind, layer: int, heads: int
) -> tuple[list[float], Floats | None]:
    """What each head added, and from which keys (h r s). slope: b r hidden."""
    assert leaf.module is not None and leaf.given is not None
    back = slope[0].double() @ weight_of(leaf.module).double().T  # r h·d
    back = back.view(slope.shape[1], heads, -1)
    given = leaf.given.reshape(*leaf.value.shape[:2], -1)
    mixed = leaf.at(solved.rows, given)[0].double().view_as(back)
    values = (mixed * back).sum(dim=(0, 2)).tolist()
    attended = solved.traced.attended.get((kind, layer))
    return values, None if attended is None else _edges(attended, back, solved.rows)


@stopped_safely()
@torch.no_grad()
def _edges(attended: Attended, back: Tensor, rows: Tensor) -> Floats:
    """h r s: α_ij (v_j · W_O slope_i), in which no vector per edge is ever made.

    Of a long text whose answer comes from many queries h 1 s, the sum over them.
    """
    values, heads = attended.values.double(), attended.heads
    spread = values.repeat_interleave(heads // values.shape[0], dim=0)  # h s d
    at_once = max(1, MOST_EDGES // spread[..., 0].numel())

    def some(start: int) -> Tensor:
        here = slice(start, start + at_once)
        towards = torch.einsum("rhd,hsd->hrs", back[here], spread)
        return attended.weights_of(rows[here]).double() * towards

    if len(rows) <= at_once:
        return some(0).cpu().numpy()
    parts = (some(start).sum(1, keepdim=True) for start in range(0, len(rows), at_once))
    return functools.reduce(torch.add, parts).cpu().numpy()


def _likeliest(scope: Scope, asked: Question, solved: Solved) -> tuple[tuple[str, float], ...]:
    shares = solved.shown.float().softmax(-1)
    if asked.output_layer is not None:
        return tuple((one.token, one.probability) for one in likeliest(scope, shares, SHOWN))
    order = shares.argsort(descending=True)[:SHOWN].tolist()
    names = answer_labels(scope, asked, order)
    return tuple((name, float(shares[at])) for name, at in zip(names, order, strict=True))


def _note(words: bool, decoder: bool, capped: bool) -> str:
    said = "Norms are held at the scale they had on this text."
    if capped:
        said += " The logit is taken before the soft-cap."
    if not words or not decoder:
        said += (
            " Bends between the last layer and the output are taken as straight here; what "
            "that misses is shown as unexplained."
        )
    return said
