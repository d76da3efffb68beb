"""Which tokenizers read a text word by word, so that what they make of a word can be remembered.

Told by what a tokenizer is made of, never by trial: nothing is said of parts not named here.
"""

from __future__ import annotations

import json
from typing import Any, Literal

# "dropped": words are cut at spaces, which belong to no token. "kept": a token may begin with a
# space but never holds one after another character, so a word and the space before it stay whole.
Spaces = Literal["dropped", "kept"]

# these look at single characters, or at a letter with its marks; no space ever joins them
_NORMALIZERS = {"BertNormalizer", "Lowercase", "NFC", "NFD", "StripAccents"}
_WORD_CUTTERS = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}
_MODELS = {"WordPiece", "WordLevel", "BPE"}
_PROCESSORS = {"BertProcessing", "RobertaProcessing", "TemplateProcessing", "ByteLevel"}


def spaces(tokenizer: Any) -> Spaces | None:
    """What becomes of the spaces between words; None where words may depend on each other."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None or tokenizer.truncation_side != "right":
        return None
    # dropout makes of one word now this and now that
    if type(backend.model).__name__ not in _MODELS or getattr(backend.model, "dropout", None):
        return None
    if any(part["type"] not in _NORMALIZERS for part in _parts(backend.normalizer, "normalizers")):
        return None
    if not all(_treats_words_alike(p) for p in _parts(backend.post_processor, "processors")):
        return None
    # an added token that is looked for in the normalised text cannot be looked for in the raw one
    if any(token.normalized for token in backend.get_added_tokens_decoder().values()):
        return None
    return _cut(_parts(backend.pre_tokenizer, "pretokenizers"))


def _cut(cutters: list[dict[str, Any]]) -> Spaces | None:
    if len(cutters) == 1 and cutters[0]["type"] in _WORD_CUTTERS:
        return "dropped"
    if not cutters or cutters[-1]["type"] != "ByteLevel":
        return None
    last, before = cutters[-1], cutters[:-1]
    if last["add_prefix_space"] or not last["use_regex"]:
        return None
    return "kept" if all(part["type"] == "Digits" for part in before) else None


def _treats_words_alike(processor: dict[str, Any]) -> bool:
    """Not so where offsets of the first token of a text are trimmed in another way."""
    trims = processor.get("trim_offsets", False) and processor.get("add_prefix_space", False)
    return processor["type"] in _PROCESSORS and not trims


def _parts(component: Any, inner: str) -> list[dict[str, Any]]:
    """A tokenizer's component as it would be written down, a sequence as its members."""
    if component is None:
        return []
    written = json.loads(component.__getstate__())
    return written[inner] if written["type"] == "Sequence" else [written]
