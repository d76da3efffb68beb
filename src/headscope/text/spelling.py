"""How tokenizers spell: word boundary marks, bytes shown as letters, special brackets.

Only the marks matter, not which tokenizer it is.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


class TokenClass(IntEnum):
    """The classes of tokens for statistics."""

    CLS = 0
    SEP = 1
    SPECIAL = 2
    PUNCTUATION = 3
    WORD = 4


_BOUNDARIES = ("Ġ", "▁", "Ċ")
_BYTE_MARKS = ("Ġ", "Ċ", "ĉ", "â", "Ã", "ð")
_BYTES = re.compile(r"(?:\\x[0-9a-f]{2})+")
_SPACE = "␣"
SPACES = (_SPACE, "▁")  # labels of tokens that are only space
_CLS = {"[CLS]", "<s>", "<cls>", "<|begin_of_text|>", "<bos>", "<|startoftext|>"}
_SEP = {"[SEP]", "</s>", "<sep>", "<|endoftext|>", "<|eot_id|>", "<eos>", "<|im_end|>"}
_SPECIAL = {"[PAD]", "<pad>", "[MASK]", "<mask>", "<|im_start|>"}


@lru_cache(maxsize=1)
def _letters_to_bytes() -> dict[str, int]:
    """The bytes behind letters: byte-level vocabularies show every byte as a printable letter."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(byte): byte for byte in printable}
    shifted = [byte for byte in range(256) if byte not in set(printable)]
    table.update({chr(256 + place): byte for place, byte in enumerate(shifted)})
    return table


def spells_bytes(tokenizer: Any) -> bool:
    """Whether a tokenizer's vocabulary shows bytes as letters (GPT-2, RoBERTa, Llama 3, …)."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return hasattr(tokenizer, "byte_decoder")
    return "ByteLevel" in repr(backend.decoder)


def readable(token: str, of_bytes: bool | None = None) -> str:
    """The token as a person would write it; `##` stays, because it marks a continuation.

    `of_bytes`: whether the vocabulary shows bytes as letters; None guesses from the token.
    """
    if token.startswith("▁"):
        return token[1:] or "▁"
    table = _letters_to_bytes()
    marked = of_bytes or (of_bytes is None and any(mark in token for mark in _BYTE_MARKS))
    if not marked or not all(letter in table for letter in token):
        return visible(token)
    raw = bytes(table[letter] for letter in token)
    try:
        spelled = raw.decode("utf-8")
    except UnicodeDecodeError:  # part of a character: an emoji cut in two
        if not of_bytes and not token.startswith(_BOUNDARIES):
            return visible(token)  # "château" is letters, not bytes
        return "".join(f"\\x{byte:02x}" for byte in raw)
    return visible(spelled.strip(" ")) or _SPACE


def joined(labels: Sequence[str]) -> str:
    """The word that pieces spell, from `readable` pieces: without the space before it, and with cut
    letters rejoined."""
    if len(labels) == 1 and "\\" not in labels[0]:
        return labels[0]
    pieces = [*labels[:1], *(label.removeprefix("##") for label in labels[1:])]
    runs = itertools.groupby(pieces, lambda piece: _BYTES.fullmatch(piece) is not None)
    word = "".join(_letters("".join(run)) if cut else "".join(run) for cut, run in runs)
    return (word[1:] if word.startswith(SPACES) else word).strip(" ") or word


def _letters(shown: str) -> str:
    """The letters whose bytes are shown as \\x.., or those bytes where they are none."""
    try:
        spelled = bytes.fromhex(shown.replace("\\x", "")).decode("utf-8")
    except UnicodeDecodeError:
        return shown
    return spelled if visible(spelled) == spelled else shown


def visible(text: str) -> str:
    """The text with visible control characters and blanks, so that no label is empty."""
    shown = text.replace("\n", "⏎").replace("\t", "⇥").replace("\r", "␍")
    return "".join(
        letter if unicodedata.category(letter) not in ("Cc", "Cs") else f"\\x{ord(letter):02x}"
        for letter in shown
    )


def bare(token: str) -> str:
    """The token without word boundary marks."""
    for mark in _BOUNDARIES:
        if token.startswith(mark) and len(token) > 1:
            token = token[1:]
    return token.removeprefix("##")


def is_punctuation(token: str) -> bool:
    """Whether it has only punctuation and symbols (an emoji is neither)."""
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
    """Word numbers by spelling alone: `##` continues a word, `Ġ` and `▁` begin one."""
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


# GPT-2 has one token for both roles: at the start it begins, elsewhere it ends
_EITHER = max(TokenClass) + 1

_readable = lru_cache(maxsize=2**18)(readable)  # holds about one vocabulary
_is_punctuation = lru_cache(maxsize=2**18)(is_punctuation)


class Vocabulary:
    """The part of a tokenizer's vocabulary that some texts use."""

    def __init__(self, tokenizer: Any, ids: NDArray[np.int64]) -> None:
        self._met = np.unique(ids)
        self.unknown: int | None = tokenizer.unk_token_id
        met: list[int] = self._met.tolist()
        spelled = spelling_of(tokenizer, met)
        labels = labels_of(tokenizer, spelled)
        self._spelled = dict(zip(met, spelled, strict=True))
        self._labels = dict(zip(met, labels, strict=True))
        self._classes = np.array(stored_classes(tokenizer, met, labels), dtype=np.int8)

    def spelled(self, ids: NDArray[np.int64]) -> tuple[str, ...]:
        return tuple(map(self._spelled.__getitem__, ids.tolist()))

    def labels(self, ids: NDArray[np.int64]) -> tuple[str, ...]:
        return tuple(map(self._labels.__getitem__, ids.tolist()))

    def classes(self, ids: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int8]:
        """Classes of the tokens of several texts; `starts` are the positions where texts begin."""
        classes = self._classes[np.searchsorted(self._met, ids)]
        either = classes == _EITHER
        if either.any():
            classes[either] = TokenClass.SEP
            begins = starts[starts < len(ids)]
            classes[begins[either[begins]]] = TokenClass.CLS
        return classes


def labels_of(tokenizer: Any, spelled: Sequence[str]) -> tuple[str, ...]:
    of_bytes = spells_bytes(tokenizer)
    return tuple(_readable(token, of_bytes) for token in spelled)


def listed(tokenizer: Any, ids: list[int]) -> tuple[str, ...]:
    """Labels of tokens out of any text, with the space before a word: `Mary` and `␣Mary`."""
    spelled = spelling_of(tokenizer, ids)
    marks = ("Ġ", "▁") if spells_bytes(tokenizer) else ("▁",)
    return tuple(
        f"{_SPACE}{label}"
        if token.startswith(marks) and not label.startswith((*SPACES, "\\x20"))
        else label
        for token, label in zip(spelled, labels_of(tokenizer, spelled), strict=True)
    )


def unlisted(word: str) -> str:
    """A word as text, from what `listed` shows."""
    return f" {word[1:]}" if word.startswith(_SPACE) and len(word) > 1 else word


def spelling_of(tokenizer: Any, ids: list[int]) -> list[str]:
    tokens = tokenizer.convert_ids_to_tokens(ids)
    return [
        token.decode("utf-8", "replace") if isinstance(token, bytes) else str(token)
        for token in tokens
    ]


def stored_classes(tokenizer: Any, ids: list[int], labels: Sequence[str]) -> list[int]:
    """The class of each token; 5 if it depends on the position."""
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    beginnings = {tokenizer.cls_token_id, tokenizer.bos_token_id}
    endings = {tokenizer.sep_token_id, tokenizer.eos_token_id}

    def of(token_id: int, label: str) -> int:
        if token_id not in special:
            return TokenClass.PUNCTUATION if _is_punctuation(label) else TokenClass.WORD
        if token_id in beginnings:
            return _EITHER if token_id in endings else TokenClass.CLS
        return TokenClass.SEP if token_id in endings else TokenClass.SPECIAL

    return [of(token_id, label) for token_id, label in zip(ids, labels, strict=True)]
