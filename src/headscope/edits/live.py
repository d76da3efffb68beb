"""A model's predictions for one input with some heads off, fast enough for every click."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from headscope.capture import Kind
from headscope.edits.disable import chosen_kind
from headscope.edits.importance import gate_slopes
from headscope.edits.spelled import edited
from headscope.errors import BadInput
from headscope.models.loading_report import check_output_layer
from headscope.reading.inputs.decoder_text import encode_both
from headscope.reading.predict import Prediction, last_word_alone, likeliest, word_logits
from headscope.statistics.kernels.jensen_shannon import row_divergence

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.text.tokenise import Text
    from headscope.text.tokens import Tokens

Asked = Literal["masked words", "next token", "classes", "next sentence", "nothing"]
Head = tuple[int, int] | tuple[Kind, int, int]  # with its kind if there are several
Change = Head | str  # a head that is off, or another edit in a link's spelling


@dataclass(frozen=True)
class Effect:
    """The predictions before and after; one list for each predicted position."""

    asked: Asked
    positions: tuple[int, ...]  # the predicted tokens; () for the whole input
    before: tuple[tuple[Prediction, ...], ...]  # the likeliest, best first
    after: tuple[tuple[Prediction, ...], ...]
    divergence: float  # Jensen-Shannon divergence from before to after, nats, mean over positions
    note: str | None  # why no word is predicted


@dataclass(frozen=True)
class Weighed:
    """How much one head matters for this input."""

    kind: Kind
    layer: int
    head: int
    importance: float  # |∂/∂ξ| of the model's answer
    share: float  # share of the sum over all heads


@dataclass(frozen=True)
class Ranking:
    """All heads, the most important for this input first, and the answer they are important for."""

    asked: Asked
    heads: tuple[Weighed, ...]


def switched_off(
    scope: Scope, off: Iterable[Change], *, mode: str = "uniform", kind: Kind | None = None
) -> Scope:
    """The scope without these heads, of one or several kinds, and with the other edits."""
    by_kind: dict[Kind, list[tuple[int, int]]] = {}
    others: list[str] = []
    for head in off:
        match head:
            case str():
                others.append(head)
            case (of, layer, number):
                by_kind.setdefault(of, []).append((layer, number))
            case _:
                by_kind.setdefault(chosen_kind(scope, kind), []).append(head)
    for of, heads in by_kind.items():
        scope = scope.without(heads=heads, mode=mode, kind=of)
    return edited(scope, others) if others else scope


def effect(
    scope: Scope,
    text: Text,
    text_pair: Text | None = None,
    off: Iterable[Change] = (),
    *,
    mode: str = "uniform",
    kind: Kind | None = None,
    n: int = 5,
    truncate: bool = False,
) -> Effect:
    """The model's predictions for this input before and after switching heads off.

    In an encoder–decoder model, the second text is what the decoder has read so far.
    """
    changed = switched_off(scope, off, mode=mode, kind=kind)
    inputs, tokens = _read(scope, text, text_pair, truncate)
    options = _options(scope, inputs)
    said = _heard(scope, scope.forward(inputs, **options), tokens)
    if said.scores is None:
        return Effect(said.asked, (), (), (), 0.0, said.note)
    again = (
        said if changed is scope else _heard(changed, changed.forward(inputs, **options), tokens)
    )
    assert again.scores is not None  # the same model with the same input
    one, two = said.scores.softmax(-1), again.scores.softmax(-1)
    before, after = (
        tuple(tuple(_best(scope, said.asked, position, n)) for position in probabilities)
        for probabilities in (one, two)
    )
    return Effect(said.asked, said.positions, before, after, _divergence(one, two), said.note)


def important_heads(
    scope: Scope, text: Text, text_pair: Text | None = None, *, truncate: bool = False
) -> Ranking:
    """All heads of all kinds by how much the model's answer to this input depends on them.

    The answer is the model's likeliest masked word, next token or class; without one, the direction
    of its mean output.
    """
    inputs, tokens = _read(scope, text, text_pair, truncate)
    asked: list[Asked] = []

    def certainty(output: Any) -> Tensor:
        said = _heard(scope, output, tokens)
        asked.append(said.asked)
        if said.scores is None:
            mean = output[0][0].float().mean(dim=0)
            return (mean * mean.detach() / mean.detach().norm().clamp(min=1e-6)).sum()
        return said.scores.log_softmax(-1).amax(dim=-1).sum()

    slopes, _ = gate_slopes(scope, inputs, certainty, **_options(scope, inputs))
    sizes = {position: slope[0, :, 0].abs().tolist() for position, slope in slopes.items()}
    total = sum(map(sum, sizes.values())) or 1.0
    found = [
        Weighed(kind, layer, head, size, size / total)
        for (kind, layer), heads in sizes.items()
        for head, size in enumerate(heads)
    ]
    return Ranking(asked[0], tuple(sorted(found, key=lambda weighed: -weighed.importance)))


@dataclass(frozen=True)
class _Said:
    """A model's predictions for its input."""

    asked: Asked
    positions: tuple[int, ...] = ()
    scores: Tensor | None = None  # p o: one row per position, or one for the whole input
    note: str | None = None


def _read(
    scope: Scope, text: Text, text_pair: Text | None, truncate: bool
) -> tuple[dict[str, Tensor], Tokens]:
    """The model's input, and the tokens it predicts."""
    if not scope.encoder_decoder:
        batch = scope.encode([text], [text_pair], truncate=truncate)
        return dict(batch.inputs), batch.tokens[0]
    batch, spoken = encode_both(scope, [text], [text_pair], truncate=truncate)
    return dict(batch.inputs), spoken[0]


def _options(scope: Scope, inputs: dict[str, Tensor]) -> dict[str, Any]:
    """A pass's options: a decoder's logits are needed at its last position alone."""
    return last_word_alone(scope, inputs) if scope.causal else {}


def _heard(scope: Scope, output: Any, tokens: Tokens) -> _Said:
    if "SequenceClassification" in type(scope.model).__name__:
        try:
            check_output_layer(scope.model, scope.name, "classes")
        except BadInput as error:
            return _Said("nothing", note=str(error))
        if output.logits.shape[-1] > 1:
            return _Said("classes", (), output.logits.float())
        return _Said("nothing", note=f"{scope.name} answers with a number, not with a word.")
    mask = getattr(scope.tokenizer, "mask_token_id", None)
    positions = tuple(at for at, token in enumerate(tokens.ids) if token == mask)
    last = scope.causal or scope.encoder_decoder
    if last:
        positions = (len(tokens) - 1,)
    try:
        words = word_logits(scope, output, [-1] if last else positions)[0]
    except BadInput as error:
        return _Said("nothing", note=str(error))
    if last:
        return _Said("next token", positions, words)
    if positions:
        return _Said("masked words", positions, words)
    note = f"{scope.name} has no mask token, so there is no word it can fill in."
    if mask is not None:
        note = f"Put {scope.tokenizer.mask_token} where the model should fill in a word."
    follows = getattr(output, "seq_relationship_logits", None)
    if follows is not None and len(tokens.texts) == 2:
        return _Said("next sentence", (), follows.float(), note)
    return _Said("nothing", note=note)


def _best(scope: Scope, asked: Asked, probabilities: Tensor, n: int) -> list[Prediction]:
    if asked in ("masked words", "next token"):
        return likeliest(scope, probabilities, n)
    names = ("follows", "does not follow")
    if asked == "classes":
        known = scope.model.config.id2label
        names = [str(known.get(number, number)) for number in range(len(probabilities))]
    top = torch.topk(probabilities, min(n, len(probabilities)))
    return [Prediction(names[i], p) for p, i in zip(*map(Tensor.tolist, top), strict=True)]


def _divergence(one: Tensor, two: Tensor) -> float:
    return float(row_divergence(one, two).mean().clamp(min=0))
