"""What the app does: read texts, give layers, facts about heads, predictions, importance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headscope.capture import Kind
from headscope.edits.live import switched_off
from headscope.errors import BadInput
from headscope.reading import Reading, Scope
from headscope.surfaces.app.examples import EXAMPLES
from headscope.surfaces.app.facts import head_facts
from headscope.surfaces.app.models import Models
from headscope.surfaces.app.patterns import labels_of
from headscope.surfaces.app.predictions import importance, predictions
from headscope.surfaces.app.readings import Kept, OffHead, Readings
from headscope.surfaces.app.request import MOST_CHARACTERS, ReadRequest
from headscope.views import Sending, ViewData
from headscope.views.default_labels import scores_for
from headscope.views.labels import as_labels
from headscope.views.opening import opening_head
from headscope.views.table import table_of
from headscope.views.wire.frame import frame
from headscope.views.wire.layer import layer_data

MOST_TOKENS = 2048  # where the model itself has no limit, or a larger one


@dataclass
class TooLongError(BadInput):
    """More tokens than can be read, with both numbers for the page to show."""

    message: str
    tokens: int
    limit: int

    def __str__(self) -> str:
        return self.message


@dataclass
class Session:
    models: Models
    readings: Readings = field(default_factory=Readings)

    def welcome(self) -> dict[str, Any]:
        return {
            "models": [self.models.entry(name) for name in self.models],
            "default": self.models.default,
            "examples": EXAMPLES,
            "max_characters": MOST_CHARACTERS,
        }

    def read(self, request: ReadRequest) -> ViewData:
        """Read a text and keep it; the answer carries its id and one layer."""
        with self.models.lock(request.model):
            scope = switched_off(self.models.scope(request.model), request.off)
            reading = _read(scope, request.text, request.text_pair, request.truncate)
        scores = scores_for(reading)
        labels = labels_of(scores)
        kept = Kept(
            request.model, scope, request.text, request.text_pair, reading, request.off, scores
        )
        name = self.readings.keep(kept)
        part = reading.part()
        layer, head = opening_head(part, as_labels(labels, part.kind))
        if request.layer in part.numbers:
            layer = request.layer
        state = {"kind": part.kind, "layer": layer, "head": head, "heads": [head]}
        sending = Sending(labels=labels, neurons=True, only=(layer,))
        data = frame("head", reading, state, sending, table=table_of(reading))
        return ViewData({**data.header, "id": name}, data.buffers)

    def layer(self, name: str, kind: Kind, layer: int, head: int | None = None) -> ViewData:
        return layer_data(self.readings.get(name).reading, kind, layer, head)

    def head(self, name: str, kind: Kind, layer: int, head: int) -> dict[str, Any]:
        return head_facts(self.readings.get(name), kind, layer, head)

    def predict(self, name: str, off: Sequence[OffHead]) -> dict[str, Any]:
        kept = self.readings.get(name)
        with self.models.lock(kept.model):
            return predictions(self.models.scope(kept.model), off, kept)

    def importance(self, name: str, off: Sequence[OffHead]) -> dict[str, Any]:
        kept = self.readings.get(name)
        with self.models.lock(kept.model):
            return importance(switched_off(self.models.scope(kept.model), off), kept)


def _read(scope: Scope, text: str, text_pair: str | None, truncate: bool) -> Reading:
    if not text.strip():
        raise BadInput("Type a sentence to read.")
    second = None if scope.encoder_decoder else text_pair
    count = token_count(scope, text, second)
    limit = min(scope.max_length or MOST_TOKENS, MOST_TOKENS)
    if count > limit and not truncate:
        raise TooLongError(
            f"The text has {count:,} tokens; {scope.name} reads at most {limit:,} here.",
            count,
            limit,
        )
    return scope.read(text, text_pair, truncate=truncate)


def token_count(scope: Scope, text: str, text_pair: str | None) -> int:
    """Tokens of the whole text, however long: what a reader is told when it does not fit."""
    return len(scope.tokenizer(text, text_pair, verbose=False)["input_ids"])
