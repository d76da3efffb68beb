"""Readings of inputs without a known text: ids, pictures, sound, embeddings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from headscope.errors import BadInput
from headscope.reading.arguments import check_layers
from headscope.reading.checks import note_warnings
from headscope.reading.collecting.keeping import Keeping, WhatToKeep
from headscope.reading.collecting.run import run
from headscope.reading.reading import Reading
from headscope.text.of_ids import tokens_of_ids
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading.scope import Scope


def inputs_reading(
    scope: Scope,
    inputs: Mapping[str, Tensor],
    tokens: Sequence[str] | Tokens | None,
    layers: Collection[int] | None,
    keep: WhatToKeep,
    memory: str | int | None,
) -> Reading:
    keeping = Keeping.of(keep, memory)
    check_layers(scope, layers)
    moved = _one_example(scope, inputs)
    collector = run(scope, moved, (None, None), layers, keeping)
    keys = collector.sizes.get("encoder", collector.sizes.get("decoder", (0, 0)))[1]
    queries = collector.sizes.get("decoder", (0, keys))[0]
    of_keys = _tokens(scope, moved.get("input_ids"), tokens, keys)
    of_queries = of_keys
    if scope.encoder_decoder and "decoder" in collector.sizes:
        of_queries = _tokens(scope, moved.get("decoder_input_ids"), None, queries)
    elif queries != keys:
        of_queries = Tokens.plain([str(position) for position in range(queries)])
    reading = collector.readings([of_queries], [of_keys], scope.name)[0]
    note_warnings(scope, reading, of_keys, moved)
    return reading


def _one_example(scope: Scope, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    if not isinstance(inputs, Mapping) or not inputs:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput("Give the model's inputs by name, such as {'input_ids': tensor}.")
    wrong = [name for name, tensor in inputs.items() if not isinstance(tensor, Tensor)]  # pyright: ignore[reportUnnecessaryIsInstance]
    if wrong:
        raise BadInput(
            f"The input {wrong[0]!r} is not a tensor; call the tokenizer with return_tensors='pt'."
        )
    moved = {name: tensor.to(scope.device) for name, tensor in inputs.items()}
    if next(iter(moved.values())).shape[0] != 1:
        raise BadInput("Give the inputs of one example: every tensor with a batch of 1.")
    return moved


def _tokens(
    scope: Scope, ids: Tensor | None, given: Sequence[str] | Tokens | None, count: int
) -> Tokens:
    """Tokens named by the caller, else by their ids' spelling, else by position."""
    known = ids is not None and ids.shape[-1] == count and scope.tokenizer is not None
    if given is None and known:
        return tokens_of_ids(scope.tokenizer, _listed(ids))
    named = names_of_positions(scope.model.config, given, count)
    if isinstance(given, Tokens) or ids is None or ids.shape[-1] != count:
        return named
    return named.with_ids(_listed(ids))


def _listed(ids: Any) -> list[int]:
    return ids[0].tolist()


# Names for positions that are not words: patches of a picture, frames of a sound.


def names_of_positions(
    configuration: Any, given: Sequence[str] | Tokens | None, count: int
) -> Tokens:
    """The names the caller gave, or row and column for patches, or plain numbers.

    It is unknown which unnamed positions are equal, so their ids are undefined.
    """
    if given is None:
        names = _patches(configuration, count) or [str(one) for one in range(count)]
        named = Tokens.plain(names).with_ids([-1] * count)
    else:
        named = given if isinstance(given, Tokens) else Tokens.plain(list(given))
    if len(named) != count:
        raise BadInput(
            f"There are {len(named)} token names, but the model reads {count} positions."
        )
    return named


def _patches(configuration: Any, count: int) -> list[str] | None:
    """Special positions first, then patches row by row; None if the number does not fit."""
    configuration = getattr(configuration, "vision_config", configuration)
    image = _pair(getattr(configuration, "image_size", None))
    patch = _pair(getattr(configuration, "patch_size", None))
    if image is None or patch is None:
        return None
    rows, columns = image[0] // patch[0], image[1] // patch[1]
    specials = count - rows * columns
    if not 0 <= specials <= 8:  # a class token, a distillation token, a few registers
        return None
    names = ["[CLS]", *(f"[EXTRA{number}]" for number in range(1, specials))][:specials]
    return names + [f"{row},{column}" for row in range(rows) for column in range(columns)]


def _pair(size: Any) -> tuple[int, int] | None:
    if isinstance(size, int):
        return size, size
    if isinstance(size, (list, tuple)) and len(size) == 2:
        return int(size[0]), int(size[1])
    return None
