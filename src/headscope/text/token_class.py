"""What a token is, as far as statistics care."""

from __future__ import annotations

from enum import IntEnum


class TokenClass(IntEnum):
    """What a token is, as far as statistics care."""

    CLS = 0
    SEP = 1
    SPECIAL = 2
    PUNCTUATION = 3
    WORD = 4
