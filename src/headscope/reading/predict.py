"""A model's predictions: masked words, the next token, the next sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from headscope.errors import BadInput
from headscope.models.limits import embedded_tokens
from headscope.models.loading_report import check_output_layer
from headscope.text.spelling import listed
from headscope.text.tokenise import need_one_text

if TYPE_CHECKING:
    from headscope.reading.scope import Scope
    from headscope.text.tokenise import Text


class Prediction(NamedTuple):
    """A token and its probability; `␣` is the space before a word."""

    token: str
    probability: float


def fill(scope: Scope, text: Text, text_pair: Text | None, n: int) -> list[list[Prediction]]:
    """For each mask token in the text, the n likeliest words, best first."""
    mask_id = getattr(scope.tokenizer, "mask_token_id", None)
    if mask_id is None:
        raise BadInput(
            f"{scope.name} has no mask token; use scope.next_token(text) for a model that "
            "continues text."
        )
    need_one_text(text)
    batch = scope.encode([text], [text_pair])
    masked = (batch.inputs["input_ids"][0] == mask_id).nonzero().flatten().tolist()
    if not masked:
        raise BadInput(f"Put {scope.tokenizer.mask_token} where the model should fill in a word.")
    probabilities = word_logits(scope, scope.forward(batch))[0].softmax(-1)
    return [likeliest(scope, probabilities[position], n) for position in masked]


def next_token(scope: Scope, text: Text, n: int) -> list[Prediction]:
    """The n likeliest continuations of a text, best first."""
    if not scope.causal:
        raise BadInput(f"{scope.name} does not continue text; mask a word and use scope.fill.")
    need_one_text(text)
    batch = scope.encode([text])
    output = scope.forward(batch, **last_word_alone(scope, batch.inputs))
    logits = word_logits(scope, output, [-1])[0, 0]
    return likeliest(scope, logits.softmax(-1), n)


def next_sentence(scope: Scope, text: Text, text_pair: Text) -> float:
    """The probability that the second sentence follows the first."""
    check_output_layer(scope.model, scope.name, "next sentence")
    output = scope.forward(scope.encode([text], [text_pair]))
    logits = getattr(output, "seq_relationship_logits", None)
    if logits is None:
        raise BadInput(
            f"{scope.name} was not trained to tell whether one sentence follows another."
        )
    return float(logits[0].float().softmax(-1)[0])


def last_word_alone(scope: Scope, inputs: Mapping[str, Tensor]) -> dict[str, Any]:
    """Options of a pass that needs only the next word: scoring the vocabulary at every position of
    a long text takes gigabytes and much of the pass's time."""
    if "input_ids" not in inputs or scope.encoder_decoder:
        return {}
    asked = {"logits_to_keep": 1, "use_cache": False}
    return {name: value for name, value in asked.items() if scope.accepts(name)}


def word_logits(scope: Scope, output: Any, positions: Sequence[int] | None = None) -> Tensor:
    """b t vocabulary float32: the scores of words in a model's output, under any name.

    `positions`: only these positions; all of a long text take gigabytes.
    """
    check_output_layer(scope.model, scope.name)
    logits = logits_in(output)
    rows = embedded_tokens(scope.model)
    if logits is not None and logits.dim() == 3 and logits.shape[-1] == rows:
        return (logits if positions is None else logits[:, list(positions)]).float()
    raise BadInput(
        f"{scope.name} has no output layer of words, so it predicts none; load the model as it "
        "was pretrained."
    )


def logits_in(output: Any) -> Tensor | None:
    """The scores in a model's output: of words, or of classes."""
    for name in ("prediction_logits", "logits"):
        logits = getattr(output, name, None)
        if isinstance(logits, Tensor):
            return logits
    return None


def likeliest(scope: Scope, probabilities: Tensor, n: int) -> list[Prediction]:
    """The n likeliest words of a vocabulary, best first."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput(f"n is the number of words to list, at least 1, not {n!r}.")
    top = torch.topk(probabilities, min(n, probabilities.numel()))
    labels = listed(scope.tokenizer, top.indices.tolist())
    return [
        Prediction(label, float(value)) for label, value in zip(labels, top.values, strict=True)
    ]
