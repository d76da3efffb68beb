"""Tokenising a decoder's text, which some tokenizers treat differently from the encoder's.

Marian has a vocabulary for each language; mBART, NLLB and M2M replace the source language's code by
the target language's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

from headscope.errors import BadInput
from headscope.interrupts import stopped_safely


@contextlib.contextmanager
def as_target(tokenizer: Any) -> Generator[None]:
    """The tokenizer in the mode of `tokenizer(text_target=…)` while the block runs."""
    switch: Any = getattr(tokenizer, "_switch_to_target_mode", None)
    if switch is None:
        yield
        return
    _check_language(tokenizer)
    with stopped_safely():
        before = tokenizer._in_target_context_manager
        tokenizer._in_target_context_manager = True  # a call for a source text would switch back
        try:
            switch()
            yield
        finally:
            tokenizer._in_target_context_manager = before
            tokenizer._switch_to_input_mode()


def language_token(tokenizer: Any) -> int | None:
    """The code of the target language, which such models must write first."""
    language = getattr(tokenizer, "tgt_lang", None)
    if language is None or not hasattr(tokenizer, "_switch_to_target_mode"):
        return None
    if hasattr(tokenizer, "get_lang_id"):  # M2M spells "fr" as "__fr__"
        return int(tokenizer.get_lang_id(language))
    return int(tokenizer.convert_tokens_to_ids(language))


def _check_language(tokenizer: Any) -> None:
    """Raise an error without a target language: transformers would use the source language."""
    if hasattr(tokenizer, "tgt_lang") and tokenizer.tgt_lang is None:
        source = getattr(tokenizer, "src_lang", None)
        raise BadInput(
            "Set scope.tokenizer.tgt_lang to the target's language: a code of the same form as "
            f"scope.tokenizer.src_lang, which is {source!r}."
        )
