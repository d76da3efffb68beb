"""Checks of arguments to public functions: a wrong value raises an error of one sentence."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Sized
from numbers import Real
from pathlib import Path
from typing import SupportsIndex, cast

from headscope.errors import BadInput

MOST_SEED = 2**32 - 1  # what every generator of random numbers takes
MOST_COUNT = 2**31 - 1


def need_scope(given: object, place: str = "first") -> None:
    """A scope, or an object with a scope's attributes."""
    if not (hasattr(given, "kinds") and hasattr(given, "forward")):
        raise BadInput(
            f"Pass a scope from hs.load() as the {place} argument, not {type(given).__name__}."
        )


def need_reading(given: object) -> None:
    """A reading of one input."""
    if not hasattr(given, "parts") or not hasattr(given, "part"):
        raise BadInput(
            f"Give a reading, such as hs.load().read(text), as the first argument, not "
            f"{type(given).__name__}."
        )


def need_survey(given: object) -> None:
    """A survey of a corpus, or another result with a table of heads."""
    if not hasattr(given, "table") or not hasattr(given, "measures"):
        raise BadInput(
            f"Give a survey, such as hs.survey(scope, corpus), not {type(given).__name__}."
        )


def shown(value: object) -> str:
    """A value as an error names it: on one line, and a long one by its type."""
    try:
        text = repr(value)
    except Exception:
        return type(value).__name__
    return text if len(text) <= 60 and "\n" not in text else f"of type {type(value).__name__}"


def need_items(given: object, what: str) -> None:
    """An iterable of items; text and bytes do not count."""
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes, bytearray)):
        raise BadInput(f"Give a path or an iterable of {what}, not {type(given).__name__}.")


def need_list(given: object, name: str, example: str) -> None:
    """Several values; passing a single one is a common slip."""
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes, bytearray)):
        raise BadInput(f"{name}= is a list such as {example}, not {shown(given)}.")


def need_kind(given: object, kind: type, name: str, what: str) -> None:
    """An object of one class."""
    if not isinstance(given, kind):
        raise BadInput(f"{name} is {what}, not {type(given).__name__}.")


def need_path(given: object) -> Path:
    """A path, as a path."""
    if not isinstance(given, (str, os.PathLike)):
        raise BadInput(f"Give the name of a file, not {type(given).__name__}.")
    return Path(given)  # pyright: ignore[reportUnknownArgumentType]


def need_whole_characters(text: str, what: str) -> None:
    """Text without lone surrogates, which no file or tokenizer takes."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"Character {error.start} of {what} is half a character (a lone surrogate); "
            "decode the text as UTF-8 again, or remove it."
        ) from error


def is_empty(given: object) -> bool:
    """Whether the value is missing or empty; bool() of an array would raise."""
    return given is None or (isinstance(given, Sized) and not len(given))


def is_whole(given: object) -> bool:
    """Whether the value is a whole number; True is not, nor is an array of several numbers."""
    try:
        operator.index(cast(SupportsIndex, given))
    except TypeError:
        return False
    return not isinstance(given, bool)


def need_number(given: object, what: str) -> None:
    """A whole number; True does not count."""
    if not is_whole(given):
        raise BadInput(f"{what} is a whole number, not {shown(given)}.")


def need_real(given: object, name: str) -> None:
    """A number, or None."""
    if given is not None and (isinstance(given, bool) or not isinstance(given, Real)):
        raise BadInput(f"{name}= must be a number, not {shown(given)}.")


def need_seed(given: object) -> None:
    """What every generator of random numbers takes."""
    need_number(given, "A seed")
    if not 0 <= operator.index(cast(SupportsIndex, given)) <= MOST_SEED:
        raise BadInput(f"A seed is a whole number from 0 to {MOST_SEED}, not {given}.")


def need_count(given: object, name: str) -> None:
    """How many of something: a whole number from 1, or None for all."""
    if given is None:
        return
    if not is_whole(given):
        raise BadInput(f"{name}= is a whole number, not {shown(given)}.")
    count = operator.index(cast(SupportsIndex, given))
    if count < 1:
        raise BadInput(f"{name}= is at least 1, not {shown(given)}.")
    if count > MOST_COUNT:
        raise BadInput(f"{name}= is at most {MOST_COUNT:,}, not {shown(given)}.")
