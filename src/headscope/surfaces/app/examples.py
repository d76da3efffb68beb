"""Texts to begin with, each showing something a head does."""

from __future__ import annotations

from typing import Any

EXAMPLES: list[dict[str, Any]] = [
    {
        "title": "two sentences",
        "text": "I went to the store.",
        "text_pair": "At the store, I bought fresh strawberries.",
    },
    {
        "title": "question and answer",
        "text": "Where did the children play after the rain stopped?",
        "text_pair": "They played in the garden behind the old house.",
    },
    {
        "title": "a masked word",
        "text": "She opened the door and walked into the [MASK].",
        "text_pair": None,
    },
    {
        "title": "a repeated phrase",
        "text": "The quick brown fox saw the quick brown fox and the quick brown fox ran.",
        "text_pair": None,
    },
    {
        "title": "a translation pair",
        "text": "translate English to German: The house is small.",
        "text_pair": "Das Haus ist klein.",
    },
]
