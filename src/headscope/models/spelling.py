"""How tokenizers spell: word boundary marks, bytes shown as letters, special brackets.

Nothing here asks which tokenizer it is; the marks themselves tell.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from headscope.models.tokens import TokenClass

_BOUNDARIES = ("Ġ", "▁", "Ċ")
_CLS = {"[CLS]", "<s>", "<cls>", "<|begin_of_text|>", "<bos>", "<|startoftext|>"}
_SEP = {"[SEP]", "</s>", "<sep>", "<|endoftext|>", "<|eot_id|>", "<eos>", "<|im_end|>"}
_SPECIAL = {"[PAD]", "<pad>", "[MASK]", "<mask>", "<|im_start|>"}


@lru_cache(maxsize=1)
def _letters_to_bytes() -> dict[str, int]:
    """Byte-level vocabularies show every byte as a printable letter; this undoes it."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(byte): byte for byte in printable}
    shifted = [byte for byte in range(256) if byte not in set(printable)]
    table.update({chr(256 + place): byte for place, byte in enumerate(shifted)})
    return table


def readable(token: str) -> str:
    """The token as a person would write it; `##` is kept, it says "goes on"."""
    if token.startswith("▁"):
        return token[1:] or "▁"
    table = _letters_to_bytes()
    if any(mark in token for mark in ("Ġ", "Ċ", "ĉ", "â", "Ã", "ð")) and all(
        letter in table for letter in token
    ):
        raw = bytes(table[letter] for letter in token)
        try:
            spelled = raw.decode("utf-8")
        except UnicodeDecodeError:  # part of a character: an emoji cut in two
            return "".join(f"\\x{byte:02x}" for byte in raw)
        stripped = spelled.strip(" ")
        return visible(stripped) or "␣"
    return visible(token)


def visible(text: str) -> str:
    """Control characters and blanks made visible, so that no token is an empty label."""
    shown = text.replace("\n", "⏎").replace("\t", "⇥").replace("\r", "␍")
    return "".join(
        letter if unicodedata.category(letter) not in ("Cc", "Cs") else f"\\x{ord(letter):02x}"
        for letter in shown
    )


def bare(token: str) -> str:
    """The token without any mark of where its word begins."""
    for mark in _BOUNDARIES:
        if token.startswith(mark) and len(token) > 1:
            token = token[1:]
    return token.removeprefix("##")


def is_punctuation(token: str) -> bool:
    """Only punctuation and symbols (an emoji is neither)."""
    text = bare(token).strip()
    return bool(text) and all(unicodedata.category(letter)[0] == "P" for letter in text)


def class_by_spelling(token: str) -> TokenClass:
    if token in _CLS:
        return TokenClass.CLS
    if token in _SEP:
        return TokenClass.SEP
    if token in _SPECIAL:
        return TokenClass.SPECIAL
    return TokenClass.PUNCTUATION if is_punctuation(token) else TokenClass.WORD


def word_numbers(
    text: Sequence[str], classes: NDArray[np.int8], segments: NDArray[np.int8]
) -> NDArray[np.int32]:
    """Words told from the spelling alone: `##` goes on, `Ġ` and `▁` begin."""
    marked = any(token.startswith(("Ġ", "▁")) for token in text)
    numbers = np.full(len(text), -1, dtype=np.int32)
    word = -1
    for place, token in enumerate(text):
        if classes[place] < TokenClass.PUNCTUATION:
            continue
        goes_on = place > 0 and numbers[place - 1] >= 0 and segments[place] == segments[place - 1]
        if marked:
            goes_on = goes_on and not token.startswith(_BOUNDARIES) and not is_punctuation(token)
        else:
            goes_on = goes_on and token.startswith("##")
        word += 0 if goes_on else 1
        numbers[place] = word
    return numbers
