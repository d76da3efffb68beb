"""The line under a picture: model and text, short enough for one line."""

from __future__ import annotations

from headscope.reading import Reading

LONGEST = 110  # characters of each text


def shortened(text: str, longest: int = LONGEST) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def caption(reading: Reading) -> str:
    texts = [f"“{shortened(text)}”" for text in reading.texts if text]
    return " · ".join([reading.model, *texts]) if reading.model else " · ".join(texts)
