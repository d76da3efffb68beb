"""Fonts for tokens of any script: the installed families that together draw the most text.

Matplotlib falls back from family to family glyph by glyph; a character that no installed family can
draw becomes a box, with one warning per script.
"""

from __future__ import annotations

import contextlib
import logging
import unicodedata
import warnings
from functools import lru_cache

from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

_WANTED = (
    "Inter",
    "Helvetica Neue",
    "Arial",
    "Liberation Sans",
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans CJK TC",
    "Noto Sans CJK KR",
    "Noto Sans SC",
    "Noto Sans JP",
    "Noto Sans KR",
    "Source Han Sans SC",
    "PingFang SC",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Apple SD Gothic Neo",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "IPAPGothic",
    "IPAGothic",
    "Droid Sans Fallback",
    "Arial Unicode MS",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Emoji",
    "Segoe UI Symbol",
)

_FIRST_CJK = _WANTED.index("Noto Sans CJK SC")


def _worth_saying(record: logging.LogRecord) -> bool:
    """Whether to pass on a warning; a missing bold face does not matter."""
    said = record.getMessage()
    return "Failed to find font weight" not in said or not any(name in said for name in _WANTED)


logging.getLogger("matplotlib.font_manager").addFilter(_worth_saying)


class FontWarning(Warning):
    """A figure shows boxes instead of characters."""


_BOX = "\u25a1"


@lru_cache
def families() -> tuple[str, ...]:
    """Installed families, best first; DejaVu Sans comes with matplotlib and is always there."""
    installed = set(font_manager.get_font_names())
    if not installed.intersection(_WANTED[_FIRST_CJK:]):
        _look_again()
        installed = set(font_manager.get_font_names())
    return tuple(name for name in _WANTED if name in installed) or ("DejaVu Sans",)


def _look_again() -> None:
    """Matplotlib caches its list of fonts; some may have been installed since."""
    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    for path in font_manager.findSystemFonts():
        if path not in known:
            with contextlib.suppress(OSError, RuntimeError, ValueError):  # not a font file
                font_manager.fontManager.addfont(path)


@lru_cache
def _faces() -> tuple[FT2Font, ...]:
    paths = [font_manager.findfont(name, fallback_to_default=True) for name in families()]
    return tuple(font_manager.get_font(path) for path in dict.fromkeys(paths))


@lru_cache(maxsize=8192)
def _drawable(character: str) -> bool:
    found = any(face.get_char_index(ord(character)) for face in _faces())
    if not found:
        _tell(unicodedata.name(character, "unnamed").split()[0].lower())
    return found


@lru_cache
def _tell(script: str) -> None:
    """Warn once per script why a figure shows boxes."""
    warnings.warn(
        f"No installed font draws {script} characters; figures show boxes instead. "
        "Install one that does, such as Noto Sans CJK for Chinese, Japanese and Korean.",
        FontWarning,
        stacklevel=2,
    )


def drawable(text: str) -> str:
    """The text with control characters made visible and undrawable characters boxed."""
    return "".join(_one(character) for character in text)


def _one(character: str) -> str:
    code = ord(character)
    if code < 32:
        return chr(0x2400 + code)  # the control pictures: a newline shows as its symbol
    if code == 127:
        return "\u2421"
    if (
        unicodedata.category(character) in ("Cf", "Cs", "Co", "Cn", "Cc")
        or 0xFE00 <= code <= 0xFE0F
    ):
        return ""  # joiners, direction marks, variation selectors, halves of pairs: nothing to draw
    return character if _drawable(character) else _BOX
