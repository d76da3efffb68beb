"""Plain text in: one paragraph a line, a blank line between documents; `.txt` or `.txt.xz`.

Documents are split into training and held-out by a hash of their own text, so the split
does not depend on file order and stays the same when text is added.
"""

from __future__ import annotations

import hashlib
import lzma
import re
from collections.abc import Iterator
from pathlib import Path

HELD_OUT_PER_MILLE = 15

# A sentence may end after . ! ? (and closing quotes or brackets) before a space and a fresh start.
_END = re.compile(r"""[.!?]["')\]]*\s+(?=["'(\[]?[A-Z0-9])""")
_LAST_WORD = re.compile(r"([A-Za-z.]+)\.\s*$")
_ABBREVIATIONS = re.compile(
    r"(mr|mrs|ms|dr|st|prof|rev|gen|col|capt|lt|sgt|hon|sen|rep|gov|jr|sr|vs|etc|vol|fig"
    r"|e\.g|i\.e|cf|al|ca|inc|ltd|co|mt|ft|u\.s|u\.k|[a-z])",
    re.IGNORECASE,
)


def documents(path: Path) -> Iterator[list[str]]:
    """Each document as its list of paragraphs."""
    opener = lzma.open if path.suffix == ".xz" else open
    paragraphs: list[str] = []
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            text = str(line).strip()
            if text:
                paragraphs.append(text)
            elif paragraphs:
                yield paragraphs
                paragraphs = []
    if paragraphs:
        yield paragraphs


def is_held_out(document: list[str], per_mille: int = HELD_OUT_PER_MILLE) -> bool:
    digest = hashlib.blake2b("\n".join(document).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % 1000 < per_mille


def sentences(paragraph: str) -> list[str]:
    """Split where a sentence plausibly ends; abbreviations and initials do not end one."""
    found: list[str] = []
    start = 0
    for match in _END.finditer(paragraph):
        piece = paragraph[start : match.end()]
        last = _LAST_WORD.search(piece)
        if last and _ABBREVIATIONS.fullmatch(last[1]):
            continue
        found.append(piece.strip())
        start = match.end()
    if rest := paragraph[start:].strip():
        found.append(rest)
    return found
