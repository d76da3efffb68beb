"""Sentences of running text, cut where a full stop ends one and not where it abbreviates."""

from __future__ import annotations

import re

_END = re.compile(
    r"""(?<=[.!?…])["'”’)\]]*   # the mark and what closes with it
        \s+
        (?=["'“‘(\[]*[A-Z0-9À-ÖØ-Þ])   # what follows looks like a beginning
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"“])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Lt|Col|Gen|Capt|Sgt|Rev|Hon|vs|etc|cf|al|"
    r"e\.g|i\.e|No|Nos|Vol|pp|Fig|Figs|Inc|Ltd|Co|Corp|approx|ca|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|"
    r"Sept|Oct|Nov|Dec)\.$"
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, blanks at their ends removed."""
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        before = text[start : match.end()].strip()
        if _ABBREVIATION.search(before[-12:]):
            continue  # "J. S. Bach", "Dr. Who": the sentence goes on
        found.append(before)
        start = match.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]
