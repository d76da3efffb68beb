"""Checks of a reading's arguments before the model runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.reading.scope import Scope
    from headscope.text.tokenise import Text


def check_layers(scope: Scope, layers: Collection[int] | None) -> None:
    if layers is None:
        return
    if isinstance(layers, (int, str)):
        raise BadInput(f"layers is a list of layer numbers, such as layers=[{layers}].")
    given: Any = layers  # any argument of the caller
    if not isinstance(given, Collection) or not len(given):
        raise BadInput("layers is a list of at least one layer number, such as layers=[0].")
    if any(isinstance(layer, bool) or not hasattr(layer, "__index__") for layer in layers):
        raise BadInput("layers is a list of whole numbers, such as layers=[0, 1].")
    known = sorted({number for numbers in scope.layer_numbers.values() for number in numbers})
    wrong = [layer for layer in layers if layer not in known]
    if wrong:
        raise BadInput(
            f"There is no layer {wrong[0]}; {scope.name} has layers {named_layers(known)}."
        )


def check_targets(scope: Scope, targets: Sequence[Text | None] | None) -> None:
    """Only a decoder with an encoder reads a target."""
    if scope.encoder_decoder or targets is None or all(one is None for one in targets):
        return
    raise BadInput(
        f"{scope.name} has no decoder beside its encoder to read a target; leave target out, or "
        "give a second sentence as text_pair."
    )


def check_pairs_and_targets(pairs: Sequence[Any], targets: Sequence[Any]) -> None:
    """A second sentence and a target would be read by the same decoder."""
    if any(a is not None and b is not None for a, b in zip(pairs, targets, strict=True)):
        raise BadInput("Give the decoder's text either as target or as text_pair, not both.")


def named_layers(numbers: Sequence[int]) -> str:
    """0 to 11, or 1, 3, 5 if only some layers have attention."""
    if len(numbers) > 1 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers))


def check_alone(
    text: object, text_pair: object, target: object, image: object, audio: object
) -> str | None:
    """With a picture or a sound, at most one text may be passed."""
    if image is not None and audio is not None:
        raise BadInput(
            "Give a picture or a sound, not both; headscope reads one of them at a time."
        )
    if text is not None and not isinstance(text, str):
        raise BadInput("With a picture or a sound, give the text as one string.")
    if text_pair is not None or target is not None:
        raise BadInput("With a picture or a sound, give one text; leave the second out.")
    return text


def check_no_text(**others: object) -> None:
    """With a conversation, no text may be passed."""
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise BadInput(f"Messages cannot be combined with {given[0]}; leave it out.")
