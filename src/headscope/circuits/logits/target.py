"""What to explain: a token's logit, the difference of two, or a class's."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from headscope.arguments import is_whole, shown
from headscope.errors import BadInput, HeadscopeError
from headscope.models.loading_report import check_output_layer
from headscope.reading.inputs.decoder_text import encode_both
from headscope.text.spelling import labels_of, listed, spelling_of, unlisted
from headscope.text.tokenise import need_one_text

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.text.tokenise import Text
    from headscope.text.tokens import Tokens

Target = str | int | Sequence[str | int] | None


@dataclass(frozen=True)
class Question:
    """A model's input, and the position of its answer."""

    inputs: dict[str, Tensor]
    query: Tokens  # read by the stack that answers
    key: Tokens  # read by the encoder, where there are two stacks
    position: int | None  # the position whose logits are explained; None: the whole text's
    output_layer: nn.Module | None  # of words; None for a classifier


def question(
    scope: Scope, text: Text, text_pair: Text | None = None, position: int | None = None
) -> Question:
    """The question at a decoder's last token, an encoder's mask, or about a whole text."""
    need_one_text(text)
    if scope.encoder_decoder:
        batch, heard = encode_both(scope, [text], [text_pair])
        query, key = heard[0], batch.tokens[0]
    else:
        batch = scope.encode([text], [text_pair])
        query = key = batch.tokens[0]
    words = word_layer(scope)
    if words is None and not classes_of(scope):
        raise BadInput(
            f"{scope.name} has no output layer, so there is no prediction to explain; load the "
            f"model with the output layer it was trained with."
        )
    if not isinstance(position, int | None):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput(f"A position is the number of a token, not {position!r}.")
    if position is None and words is not None:
        position = _answer_position(scope, query)
    elif position is not None and not -len(query) <= position < len(query):
        raise BadInput(f"There is no token {position}; the text has tokens 0 to {len(query) - 1}.")
    if position is not None and position < 0:
        position += len(query)
    return Question(dict(batch.inputs), query, key, position, words)


def together(scope: Scope, asked: Sequence[Question]) -> dict[str, Tensor]:
    """The inputs of several questions as one batch, padded on the right."""
    if len(asked) == 1:
        return asked[0].inputs
    filler: int = getattr(scope.tokenizer, "pad_token_id", None) or 0
    made: dict[str, Tensor] = {}
    for name in asked[0].inputs:
        every = [one.inputs[name][0] for one in asked]
        value = filler if name.endswith("input_ids") else 0
        made[name] = pad_sequence(every, batch_first=True, padding_value=value)
    return made


def question_at(scope: Scope, tokens: Tokens, position: int) -> Question:
    """The question after a token of a decoder's text, with the tokens as they were read."""
    words = word_layer(scope)
    if words is None:
        raise BadInput(
            f"{scope.name} has no output layer of words, so it predicts none; load the model as it "
            "was pretrained."
        )
    ids = torch.tensor(tokens.ids[None].astype("int64"), device=scope.device)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    return Question(inputs, tokens, tokens, position, words)


def word_layer(scope: Scope) -> nn.Module | None:
    """The layer that scores words; None for models of classes and models without any output."""
    check_output_layer(scope.model, scope.name)
    model: Any = scope.model
    layer = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    if layer is None or getattr(layer, "weight", None) is None:
        return None
    if isinstance(layer, nn.Embedding):  # FSMT's does not score its words
        raise HeadscopeError(
            f"{scope.name} uses a lookup table as its output layer, so what its heads add to a "
            "word cannot be decomposed."
        )
    rows = getattr(model.get_input_embeddings(), "num_embeddings", None)
    scored = getattr(layer, "out_features", layer.weight.shape[0])  # a packed weight has no rows
    return layer if scored == rows else None


def classes_of(scope: Scope) -> dict[int, str]:
    """Class names by number, if the model has an output layer of classes."""
    if "Classification" not in type(scope.model).__name__:
        return {}
    return {int(at): str(name) for at, name in scope.model.config.id2label.items()}


def _answer_position(scope: Scope, query: Tokens) -> int:
    if "decoder" in scope.kinds:
        return len(query) - 1
    mask = getattr(scope.tokenizer, "mask_token_id", None)
    masked = [] if mask is None else (query.ids == mask).nonzero()[0].tolist()
    if not masked:
        raise BadInput(
            f"{scope.name} fills in masked words; put {scope.tokenizer.mask_token or 'a mask'} "
            f"in the text, or pass the position to explain."
        )
    return int(masked[0])


def target_ids(scope: Scope, asked: Question, target: Target, logits: Tensor) -> list[int]:
    """The answer's number, or those of two answers to compare; the likeliest if none is given."""
    if target is None:
        return [int(logits.argmax())]
    several: Any = [target] if isinstance(target, str) or is_whole(target) else target
    if not isinstance(several, Sequence) or len(several) not in (1, 2):
        raise BadInput("A target is one token, or two to compare: ('Paris', 'London').")
    for one in several:
        if one is not None and not isinstance(one, str) and not is_whole(one):
            raise BadInput(f"A target is a token or its number, not {shown(one)}.")
    of_words = asked.output_layer is not None
    named = token_id if of_words else _class_id
    ids = [int(logits.argmax()) if one is None else named(scope, one) for one in several]
    check_answers(ids, logits.shape[-1])
    return ids


def check_answers(ids: Sequence[int], count: int) -> None:
    """Refuse numbers outside the `count` answers, and an answer compared with itself."""
    wrong = [one for one in ids if not 0 <= one < count]
    if wrong:
        raise BadInput(f"There is no answer {wrong[0]}; they are 0 to {count - 1}.")
    if len(set(ids)) < len(ids):
        raise BadInput("The two targets are the same token; give two different ones.")


def token_id(scope: Scope, word: str | int) -> int:
    """The single token of a word: as spelled within a text, else as written, else as a piece."""
    if not isinstance(word, str):
        return operator.index(word)
    word = unlisted(word)
    spaced = [word] if word[:1].isspace() or "decoder" not in scope.kinds else [f" {word}", word]
    tried = [scope.tokenizer(one, add_special_tokens=False)["input_ids"] for one in spaced]
    for ids in tried:
        if len(ids) == 1 and ids[0] != scope.tokenizer.unk_token_id:
            return int(ids[0])
    known = scope.tokenizer.convert_tokens_to_ids(word)  # a piece such as ##s
    if isinstance(known, int) and known not in (scope.tokenizer.unk_token_id, -1):
        return known
    pieces = labels_of(scope.tokenizer, spelling_of(scope.tokenizer, tried[0]))
    if len(tried[0]) == 1:
        raise BadInput(f"{scope.name} does not know the word {word!r}; choose another target.")
    raise BadInput(
        f"{scope.name} splits {word!r} into {len(tried[0])} tokens ({' · '.join(pieces)}); give a "
        "target that is one token, such as its first piece."
    )


def _class_id(scope: Scope, target: str | int) -> int:
    if not isinstance(target, str):
        return operator.index(target)
    names = classes_of(scope)
    for at, name in names.items():
        if name.lower() == target.lower():
            return at
    raise BadInput(f"There is no class {target!r}; there are {', '.join(names.values())}.")


def answer_labels(scope: Scope, asked: Question, ids: list[int]) -> tuple[str, ...]:
    if asked.output_layer is None:
        names = classes_of(scope)
        return tuple(names.get(one, str(one)) for one in ids)
    return listed(scope.tokenizer, ids)


def logits_of(scope: Scope, output: Any, words: bool, at: Tensor | int | None) -> Tensor:
    """b v: the scores of the answers at the asked positions, part of the autograd graph."""
    for name in ("prediction_logits", "logits"):
        found = getattr(output, name, None)
        if not isinstance(found, Tensor):
            continue
        if words and found.dim() == 3:
            if found.shape[1] == 1:
                return found[:, -1]
            return found[torch.arange(len(found), device=found.device), 0 if at is None else at]
        if not words:
            return found if found.dim() == 2 else found[:, 0 if at is None else at]
    raise BadInput(f"{scope.name} returned no scores to explain.")


def difference(logits: Tensor, ids: list[int]) -> Tensor:
    """The answer's logit, or the first minus the second; logits: … v."""
    return logits[..., ids[0]] if len(ids) == 1 else logits[..., ids[0]] - logits[..., ids[1]]


def softcapped(logits: Tensor, before: Tensor) -> bool:
    """Whether the logits changed after the output layer (a soft-cap).

    Small logits change little, so anything beyond rounding counts.
    """
    rounding = 3e-6 if before.dtype in (torch.float32, torch.float64) else 1e-2
    shown, plain = logits.double(), before.double()
    scale = (shown * plain).sum() / plain.square().sum().clamp(min=1e-12)
    return bool((shown - scale * plain).norm() > rounding * shown.norm().clamp(min=1e-6))


@torch.no_grad()
def probability(logits: Tensor, at: int) -> float:
    return float(logits.float().softmax(-1)[at])
