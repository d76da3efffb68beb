"""Attention weighted by what it moves, for any view to draw instead of α.

norm ‖α_ij v_j W_h‖: how much is moved, not only the weight (Kobayashi et al. 2020)
logit   |α_ij v_j W_h · u|: the part of it along the direction u of a token's logit

Both are α times a number per head and key, so a reading stores only that number. Views show and
label them as shares of the reading's largest value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.arguments import need_list
from headscope.capture import Call, Kind
from headscope.capture.output_projection import head_norms, weight_of
from headscope.circuits.logits.solve import solve
from headscope.circuits.logits.target import Question, answer_labels, question
from headscope.circuits.outputs import one_text, projection_of
from headscope.circuits.unrolled import unrolled
from headscope.circuits.wiring import wiring
from headscope.errors import BadInput
from headscope.interrupts import stopped_safely
from headscope.reading.part import Weighting
from headscope.reading.predict import last_word_alone
from headscope.reading.weights.layer import LayerAttention
from headscope.statistics.of_reading import share_values

if TYPE_CHECKING:
    from headscope.circuits.logits.target import Target
    from headscope.reading import Reading, Scope
    from headscope.text.tokenise import Text

Factor = Literal["norm", "logit"]
BOTH: tuple[Factor, ...] = ("norm", "logit")
Factors = dict[tuple[Kind, int], NDArray[np.float32]]  # h s
AT_ONCE = {"cpu": 2**26, "cuda": 2**30}  # bytes of weights; a GPU is faster in few large steps


def with_weightings(
    scope: Scope,
    text: Text,
    text_pair: Text | None = None,
    *,
    by: Factor | Collection[Factor] = BOTH,
    target: Target = None,
    position: int | None = None,
) -> Reading:
    """A reading that views can draw by weight, by norm or towards a logit: `weighting="norm"`.

    Parameters
    ----------
    scope
        The model.
    text
        The text.
    text_pair
        A second text, or what the decoder of an encoder–decoder reads.
    by
        "norm", "logit", or both, which is the default.
    target
        The token or class whose logit counts, or two to tell apart; the likeliest if left out.
    position
        The number of the token whose answer is asked; the model's own choice if left out.

    Returns
    -------
    Reading
        As `scope.read` gives it, with weightings beside the weights.

    Examples
    --------
    >>> import headscope as hs
    >>> reading = hs.circuits.with_weightings(hs.load(), "the cat sat", by="norm")
    >>> view = hs.head_view(reading, weighting="norm")
    """
    if not isinstance(by, str):
        need_list(by, "by", '["norm"]')
    reading = scope.read(text, text_pair)
    asked: tuple[Factor, ...] = (by,) if isinstance(by, str) else tuple(by)  # pyright: ignore[reportAssignmentType]
    for one in asked:
        reading = weigh(scope, reading, text, text_pair, by=one, target=target, position=position)
    return reading


def weighted(
    scope: Scope,
    text: Text,
    text_pair: Text | None = None,
    *,
    by: Factor = "norm",
    target: Target = None,
    position: int | None = None,
) -> Reading:
    """A reading whose maps are weighted by what heads move, or move towards a logit.

    Parameters
    ----------
    scope
        The model.
    text
        The text.
    text_pair
        A second text, or what the decoder of an encoder–decoder reads.
    by
        "norm" (the default): the size of what is moved; "logit": its part along an answer's logit.
    target
        The token or class whose logit counts, or two to tell apart; the likeliest if left out.
    position
        The number of the token whose answer is asked; the model's own choice if left out.

    Returns
    -------
    Reading
        As `scope.read` gives it, with the weighted maps in place of the weights.

    Examples
    --------
    >>> import headscope as hs
    >>> hs.circuits.weighted(hs.load(), "the cat sat").part().weights(0).shape
    (8, 5, 5)
    """
    reading = scope.read(text, text_pair, keep=("weights",))
    reading = weigh(scope, reading, text, text_pair, by=by, target=target, position=position)
    parts = {
        kind: dataclasses.replace(
            part,
            weightings={},
            layers=tuple(
                LayerAttention(number, part.weights(number) * part.weightings[by].shares(number))
                for number in part.numbers
            ),
        )
        for kind, part in reading.parts.items()
        if by in part.weightings
    }
    named = next(p.weightings[by].label for p in reading.parts.values() if by in p.weightings)
    return dataclasses.replace(reading, parts=parts, model=f"{reading.model}: {named}")


def weigh(
    scope: Scope,
    reading: Reading,
    text: Text,
    text_pair: Text | None = None,
    *,
    by: Factor,
    target: Target = None,
    position: int | None = None,
) -> Reading:
    """The reading of that text with one more weighting."""
    if by == "norm":
        title, (factors, most) = "norm of what is moved", _norms(scope, text, text_pair)
    elif by == "logit":
        scope = unrolled(scope)
        asked = question(scope, text, text_pair, position)
        names, (factors, most) = _towards(scope, asked, target)
        title = f"size of the part along the logit of {' over '.join(names)}"
    else:
        raise BadInput(f"Weights are by='norm' or by='logit', not {by!r}.")
    parts = dict(reading.parts)
    for kind, part in reading.parts.items():
        own = {
            number: factors[kind, number] for number in part.numbers if (kind, number) in factors
        }
        if len(own) < len(part.numbers):
            continue  # what an encoder attends to has no direct path to a decoder's answer
        if any(one.shape[-1] != len(part.key) for one in own.values()):
            raise BadInput("The text's tokens differ from the reading's; read the text again.")
        made = Weighting(title, most or 1.0, own)
        parts[kind] = dataclasses.replace(part, weightings={**part.weightings, by: made})
        share_values(part, parts[kind])
    return dataclasses.replace(reading, parts=parts)


def _norms(scope: Scope, text: Text, text_pair: Text | None) -> tuple[Factors, float]:
    """‖v_j W_h‖, and the largest α_ij ‖v_j W_h‖."""

    def factor(call: Call) -> Tensor:
        weight = weight_of(projection_of(scope, call)).float()
        assert call.v is not None
        return head_norms(weight, call.v.float(), call.heads)[0]

    return _weighed(scope, one_text(scope, text, text_pair), factor)


def _towards(
    scope: Scope, asked: Question, target: Target
) -> tuple[tuple[str, ...], tuple[Factors, float]]:
    """|v_j W_h · u| with u the answer's direction at the answering position."""
    wired = wiring(scope)
    solved = solve(scope, wired, [asked], [target])
    directions: dict[tuple[Kind, int], Tensor] = {}  # hidden
    for leaf, slope in zip(solved.traced.leaves, solved.slopes, strict=True):
        projection = None if leaf.module is None else wired.projections.get(id(leaf.module))
        if projection is not None and slope is not None:
            here = leaf.at(solved.rows, slope)[0, -1].float()
            directions[projection.kind, projection.layer] = here
    names = answer_labels(scope, asked, solved.ids[0])
    del solved  # frees the pass: the values come from another, layer by layer

    def factor(call: Call) -> Tensor | None:
        direction = directions.get((call.kind, call.layer))
        if direction is None:
            return None
        weight = weight_of(projection_of(scope, call)).float()
        assert call.v is not None
        back = weight.reshape(call.heads, -1, weight.shape[-1]) @ direction  # h d
        values = call.v[0].float()
        spread = values.repeat_interleave(call.heads // values.shape[0], dim=0)  # h s d
        return (spread @ back[:, :, None])[..., 0].abs()

    return names, _weighed(scope, asked.inputs, factor)


def _weighed(
    scope: Scope,
    inputs: Mapping[str, Tensor],
    factor: Callable[[Call], Tensor | None],
) -> tuple[Factors, float]:
    """Weigh every call of a pass (h s) and release it; None leaves a call out."""
    _ = scope.description  # watches which module takes the heads' outputs
    factors: Factors = {}
    most = 0.0

    def note(call: Call) -> None:
        nonlocal most
        found = factor(call)
        if found is not None:
            most = max(most, _largest(call, found))
            factors[call.kind, call.layer] = found.cpu().numpy().astype(np.float32)

    scope.forward(inputs, note, lazy=True, **last_word_alone(scope, inputs))
    return factors, most


@stopped_safely()
@torch.no_grad()
def _largest(call: Call, factor: Tensor) -> float:
    """The largest α_ij times the factor of head and key (h s), in blocks of queries if possible.
    The factor is not negative, so each key's largest α suffices."""
    at_once = AT_ONCE.get(factor.device.type, AT_ONCE["cpu"])
    if call.q is None or call.map_bytes <= at_once:
        return _most(call.weights[0].amax(1), factor)
    queries = torch.arange(call.q.shape[2], device=call.q.device)
    most = torch.zeros_like(factor)
    for some in queries.split(max(1, at_once * len(queries) // call.map_bytes)):
        weights = call.weights_of(some)
        if weights is None:
            return _most(call.weights[0].amax(1), factor)
        most = torch.maximum(most, weights[0].amax(1).float())
    return _most(most, factor)


def _most(weights: Tensor, factor: Tensor) -> float:
    return float((weights.float() * factor).max())
