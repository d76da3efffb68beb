"""Tokenising what a decoder reads: some tokenizers treat it unlike what the encoder reads.

Marian has a vocabulary for each language; mBART, NLLB and M2M put the target language's code
where the source language's stood.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

from headscope.errors import BadInput
from headscope.interrupts import stopped_safely


@contextlib.contextmanager
def as_target(tokenizer: Any) -> Generator[None]:
    """The tokenizer as `tokenizer(text_target=…)` uses it, for the length of a block."""
    switch: Any = getattr(tokenizer, "_switch_to_target_mode", None)
    if switch is None:
        yield
        return
    _check_language(tokenizer)
    with stopped_safely():
        before = tokenizer._in_target_context_manager
        tokenizer._in_target_context_manager = True  # a call for a text would switch back
        try:
            switch()
            yield
        finally:
            tokenizer._in_target_context_manager = before
            tokenizer._switch_to_input_mode()


def language_token(tokenizer: Any) -> int | None:
    """The code of the target language, which such models are made to write first."""
    language = getattr(tokenizer, "tgt_lang", None)
    if language is None or not hasattr(tokenizer, "_switch_to_target_mode"):
        return None
    if hasattr(tokenizer, "get_lang_id"):  # M2M spells "fr" as "__fr__"
        return int(tokenizer.get_lang_id(language))
    return int(tokenizer.convert_tokens_to_ids(language))


def _check_language(tokenizer: Any) -> None:
    """Without one, transformers would take the target to be in the source language."""
    if hasattr(tokenizer, "tgt_lang") and tokenizer.tgt_lang is None:
        source = getattr(tokenizer, "src_lang", None)
        raise BadInput(
            "Say which language the target is in: set scope.tokenizer.tgt_lang, spelled like "
            f"scope.tokenizer.src_lang ({source!r})."
        )
