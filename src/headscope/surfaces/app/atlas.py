"""The atlas of the model in hand: its page, and the texts its examples stand in."""

from __future__ import annotations

import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any

from headscope.atlas.atlas import Atlas
from headscope.errors import BadInput
from headscope.surfaces.app.models import Models
from headscope.views import Sending, ViewData, discover

LARGEST = 2**26  # bytes of a file that is handed to the app


class OpenedAtlas:
    def __init__(self, atlas: Atlas, models: Models) -> None:
        self._atlas = atlas
        self._models = models
        self.model = models.default

    @cached_property
    def _page(self) -> ViewData:
        self._atlas.check(self._models.scope(self.model))
        return discover()["atlas"].build(self._atlas, sending=Sending())

    def page(self) -> ViewData:
        return self._page

    def text(self, document: int) -> dict[str, Any]:
        """A text of the corpus as people type it: what is read when an example is clicked.

        Of a model with two stacks the text that was read, and as the second what was written.
        """
        frame: Any = self._atlas.frame("documents")
        rows = frame[frame["document"] == document]
        if not self._atlas.has_text or rows.empty:
            raise BadInput(f"This atlas keeps no text {document}.")
        stacks = {str(row["kind"]): self._sentences(row) for _, row in rows.iterrows()}
        if "encoder" in stacks and "decoder" in stacks:
            return {"text": stacks["encoder"][0], "text_pair": stacks["decoder"][0]}
        first, second = next(iter(stacks.values()))
        return {"text": first, "text_pair": second or None}

    def _sentences(self, row: Any) -> tuple[str, str]:
        parts: tuple[list[int], list[int]] = ([], [])
        for token, segment, its_class in zip(
            row["ids"], row["segments"], row["classes"], strict=True
        ):
            if its_class > 2:  # special tokens are the tokenizer's own to add
                parts[int(segment)].append(int(token))
        decode = self._models.scope(self.model).tokenizer.decode
        first, second = (str(decode(ids)).strip() for ids in parts)
        return first, second


def opened_bytes(data: bytes, models: Models) -> OpenedAtlas:
    """An atlas file that the page was given; one of another model is refused."""
    if len(data) > LARGEST:
        raise BadInput("The file is larger than the app takes; start it with --atlas FILE.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given.atlas"
        path.write_bytes(data)
        stored = Atlas.load(path)
        tables = {name: stored.frame(name) for name in stored.names}  # the file goes away
    atlas = Atlas(stored.description, tables)
    atlas.check(models.scope(models.default))
    return OpenedAtlas(atlas, models)
