"""The atlas of the model in hand: its page, and the texts its examples stand in."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from headscope.atlas.atlas import Atlas
from headscope.errors import BadInput
from headscope.surfaces.app.models import Models
from headscope.views import Sending, ViewData, discover


class OpenedAtlas:
    def __init__(self, atlas: Atlas, models: Models) -> None:
        self._atlas = atlas
        self._models = models
        self.model = models.default

    @cached_property
    def _page(self) -> ViewData:
        return discover()["atlas"].build(self._atlas, sending=Sending())

    def page(self) -> ViewData:
        return self._page

    def text(self, document: int) -> dict[str, Any]:
        """A text of the corpus as people type it: what is read when an example is clicked."""
        frame: Any = self._atlas.frame("documents")
        rows = frame[frame["document"] == document]
        if not self._atlas.has_text or rows.empty:
            raise BadInput(f"This atlas keeps no text {document}.")
        row = rows.iloc[0]
        parts: tuple[list[int], list[int]] = ([], [])
        for token, segment, its_class in zip(
            row["ids"], row["segments"], row["classes"], strict=True
        ):
            if its_class > 2:  # special tokens are the tokenizer's own to add
                parts[int(segment)].append(int(token))
        decode = self._models.scope(self.model).tokenizer.decode
        first, second = (str(decode(ids)).strip() for ids in parts)
        return {"text": first, "text_pair": second or None}
