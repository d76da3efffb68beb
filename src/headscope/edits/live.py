"""What a model says of one input with some heads off, quickly enough to be asked on every click."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from headscope.capture import Kind
from headscope.edits.disable import chosen_kind
from headscope.edits.importance import gate_slopes
from headscope.reading.predict import Prediction

if TYPE_CHECKING:
    from headscope.models.tokenise import Batch, Text
    from headscope.reading import Scope

Asked = Literal["masked words", "next token", "classes", "next sentence", "nothing"]


@dataclass(frozen=True)
class Effect:
    """What the model says before and after; one list of predictions for each place it speaks."""

    asked: Asked
    places: tuple[int, ...]  # the tokens it speaks of; () for the whole input
    before: tuple[tuple[Prediction, ...], ...]
    after: tuple[tuple[Prediction, ...], ...]  # the same tokens as before, then new ones
    divergence: float  # Jensen-Shannon in nats between before and after, the mean over places


@dataclass(frozen=True)
class Weighed:
    """How much one head matters for this input."""

    kind: Kind
    layer: int
    head: int
    importance: float  # |∂/∂ξ| of what the model says
    share: float  # of the sum over all heads


def effect(
    scope: Scope,
    text: Text,
    text_pair: Text | None = None,
    off: Sequence[tuple[int, int]] = (),
    *,
    mode: str = "uniform",
    kind: Kind | None = None,
    k: int = 5,
) -> Effect:
    """The model's predictions for this input before and after switching heads off."""
    batch = scope.encode([text], [text_pair])
    asked, places = _question(scope, batch)
    if asked == "nothing":
        return Effect(asked, (), (), (), 0.0)
    edited = scope.without(heads=off, mode=mode, kind=kind) if off else scope
    one = _probabilities(scope, batch, asked, places)
    two = _probabilities(edited, batch, asked, places)
    names = _names(scope, asked)
    before, after = [], []
    for p, q in zip(one, two, strict=True):
        count = min(k, p.numel())
        shown = p.topk(count).indices.tolist()
        new = [i for i in q.topk(count).indices.tolist() if i not in shown]
        before.append(tuple(Prediction(names(i), float(p[i])) for i in shown))
        after.append(tuple(Prediction(names(i), float(q[i])) for i in [*shown, *new]))
    return Effect(asked, places, tuple(before), tuple(after), _divergence(one, two))


def important_heads(
    scope: Scope, text: Text, text_pair: Text | None = None, *, kind: Kind | None = None
) -> list[Weighed]:
    """All heads by how much the model's answer to this input depends on them, the most first.

    The answer is what the model says now: its likeliest masked word, next token or class; a
    model without a head that speaks is weighed by the direction of its mean hidden state.
    """
    kind = chosen_kind(scope, kind)
    batch = scope.encode([text], [text_pair])
    asked, places = _question(scope, batch)

    def certainty(output: Any) -> Tensor:
        if asked == "nothing":
            mean = output[0][0].mean(dim=0)
            return (mean * mean.detach() / mean.detach().norm().clamp(min=1e-6)).sum()
        logits = _logits(output, asked, places)
        return logits.log_softmax(-1).amax(dim=-1).sum()

    slopes, _ = gate_slopes(scope, batch.inputs, certainty, kind)
    size = slopes[0, :, :, 0].abs().T  # layer head
    total = float(size.sum()) or 1.0
    found = [
        Weighed(kind, layer, head, float(size[layer, head]), float(size[layer, head]) / total)
        for layer in range(size.shape[0])
        for head in range(size.shape[1])
    ]
    return sorted(found, key=lambda weighed: -weighed.importance)


def _question(scope: Scope, batch: Batch) -> tuple[Asked, tuple[int, ...]]:
    """What the model can be asked about this input, and at which tokens."""
    name = type(scope.model).__name__
    if "SequenceClassification" in name:
        return "classes", ()
    mask = getattr(scope.tokenizer, "mask_token_id", None)
    speaks = any(part in name for part in ("MaskedLM", "PreTraining", "CausalLM", "LMHead"))
    if not scope.causal and mask is not None and speaks:
        masked = (batch.inputs["input_ids"][0] == mask).nonzero().flatten().tolist()
        if masked:
            return "masked words", tuple(masked)
    if scope.causal and not scope.encoder_decoder and speaks:
        return "next token", (len(batch.tokens[0]) - 1,)
    if "PreTraining" in name and len(batch.tokens[0].texts) == 2:
        return "next sentence", ()
    return "nothing", ()


def _logits(output: Any, asked: Asked, places: tuple[int, ...]) -> Tensor:
    """p o: the scores at each place the model speaks of."""
    if asked == "classes":
        return output["logits"].float()
    if asked == "next sentence":
        return output["seq_relationship_logits"].float()
    words = output["prediction_logits" if "prediction_logits" in output else "logits"]
    return words[0, list(places)].float()


def _probabilities(scope: Scope, batch: Batch, asked: Asked, places: tuple[int, ...]) -> Tensor:
    with torch.no_grad():
        return _logits(scope.forward(batch), asked, places).softmax(-1)


def _names(scope: Scope, asked: Asked) -> Any:
    if asked == "classes":
        labels = scope.model.config.id2label
        return lambda number: str(labels.get(number, number))
    if asked == "next sentence":
        return lambda number: ("follows", "does not follow")[number]
    from headscope.models.spelling import readable

    return lambda number: readable(str(scope.tokenizer.convert_ids_to_tokens(number)))


def _divergence(one: Tensor, two: Tensor) -> float:
    mixed = (one + two) / 2

    def information(p: Tensor) -> Tensor:
        return torch.special.xlogy(p, p).sum(dim=-1)

    found = (information(one) + information(two)) / 2 - information(mixed)
    return float(found.mean().clamp(min=0))
