"""Attribute: a prediction taken apart into what each head, MLP and embedding put into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headscope.arguments import need_scope
from headscope.capture import Kind
from headscope.capture.output_projection import weight_of
from headscope.capture.weight_rows import weight_rows
from headscope.circuits.logits.attribution import Attribution, Floats, PartOfLogit, place
from headscope.circuits.logits.lens import logit_lens
from headscope.circuits.logits.promoted import promoted
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
from headscope.circuits.trace import Leaf, Trace, trace
from headscope.circuits.unrolled import unrolled
from headscope.circuits.wiring import Wiring, wiring
from headscope.interrupts import stopped_safely
from headscope.reading.predict import likeliest

if TYPE_CHECKING:
    from headscope.capture import Call
    from headscope.reading import Scope
    from headscope.text.tokenise import Text

SPEAKING = 12  # heads whose raised and lowered tokens are worked out
SHOWN = 5  # likeliest answers kept


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
    strongest = sorted((p for p in parts if p.part == "head"), key=lambda p: -abs(p.value))
    speaks = asked.output_layer is not None
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


class Solved:
    """The traced pass, the answer asked of it, and its slope at every leaf."""

    def __init__(self, traced: Trace, logits: Tensor, ids: list[int], capped: bool) -> None:
        self.traced, self.logits, self.ids, self.capped = traced, logits, ids, capped
        self.shown = logits  # what the model gives out, soft-capped where it is
        self.answer = difference(logits, ids)
        self.slopes: list[Tensor | None] = []
        self.biases: list[float] = []
        self.rows = torch.zeros(0, dtype=torch.long)


@stopped_safely()
@torch.enable_grad()
def solve(scope: Scope, found: Wiring, asked: Question, target: Target) -> Solved:
    before: list[Tensor] = []

    def keep(module: nn.Module, given: Any, output: Tensor) -> None:
        before.append(output)

    layer = asked.output_layer
    handle = None if layer is None else layer.register_forward_hook(keep)
    try:
        traced = trace(scope, found, asked.inputs, asked.position, layer)
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
    solved.rows = _rows(solved.slopes)
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


def _rows(slopes: list[Tensor | None]) -> Tensor:
    """The positions through which anything reaches the answer."""
    touched = [
        slope[0].abs().amax(-1) > 0 for slope in slopes if slope is not None and slope.dim() == 3
    ]
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
        whole = float((slope.double() * leaf.value.detach().double()).sum())
        if leaf.module is None:
            if leaf.value.dim() == 1 or leaf.layer is not None:
                bias += whole
            else:
                parts.append(PartOfLogit("embedding", None, None, None, whole))
        elif projection is None or leaf.given is None:
            mlps[leaf.layer or 0] = mlps.get(leaf.layer or 0, 0.0) + whole
        else:
            kind, layer = projection.kind, projection.layer
            values, edge = _by_head(leaf, slope, solved, kind, layer, projection.heads)
            parts += [
                PartOfLogit("head", kind, layer, head, value) for head, value in enumerate(values)
            ]
            bias += whole - sum(values)
            if edge is not None:
                edges[place(kind, layer)] = edge
    parts += [PartOfLogit("mlp", None, layer, None, value) for layer, value in mlps.items()]
    parts.append(PartOfLogit("bias", None, None, None, bias))
    return parts, edges


def _by_head(
    leaf: Leaf, slope: Tensor, solved: Solved, kind: Kind, layer: int, heads: int
) -> tuple[list[float], Floats | None]:
    """What each head added, and from which keys (h r s)."""
    assert leaf.module is not None and leaf.given is not None
    rows = solved.rows
    back = slope[0, rows].double() @ weight_of(leaf.module).double().T  # r h·d
    back = back.view(len(rows), heads, -1)
    mixed = leaf.given.reshape(*slope.shape[:2], heads, -1)[0, rows].double()
    values = (mixed * back).sum(dim=(0, 2)).tolist()
    call = solved.traced.calls.get((kind, layer))
    return values, None if call is None else _edges(call, back, rows)


@torch.no_grad()
def _edges(call: Call, back: Tensor, rows: Tensor) -> Floats | None:
    """h r s: α_ij (v_j · W_O slope_i), in which no vector per edge is ever made."""
    if call.v is None:
        return None
    spread = call.v[0].double().repeat_interleave(call.heads // call.v.shape[1], dim=0)  # h s d
    towards = torch.einsum("rhd,hsd->hrs", back, spread)
    return (weight_rows(call, rows)[0].double() * towards).cpu().numpy()


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
