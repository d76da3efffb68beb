"""The classes BertViz kept copies of, from the transformers that is installed."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import transformers

    try:
        return getattr(transformers, name)
    except AttributeError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from error
