"""A tour: a file of saved states of the app, each with a title and a text, shown one by one."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from headscope.errors import BadInput
from headscope.json_text import parse_json


class Step(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """`address` is the part after "?" of the app's address."""

    title: str
    text: str
    address: str


BUNDLED = Path(__file__).with_name("tour.json")  # for the bundled model, as a first lesson


def read_tour(path: str | os.PathLike[str]) -> list[Step]:
    """The steps of a tour file, a JSON list of {title, text, address}; or of the one "bundled"."""
    path = BUNDLED if str(path) == "bundled" else path
    try:
        steps = msgspec.convert(parse_json(Path(path).read_text("utf-8")), list[Step])
    except OSError as error:
        raise BadInput(f"There is no tour {path}; give a file with a list of steps.") from error
    except ValueError as error:  # msgspec's and json's errors are ValueErrors
        raise BadInput(
            f"{path} is not a tour ({error}); a tour is a JSON list of steps, each with title, "
            f"text and "
            "address."
        ) from error
    if not steps:
        raise BadInput(f"The tour {path} has no steps; add at least one.")
    return steps
