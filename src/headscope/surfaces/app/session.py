"""The app's session: readings, layers, facts about heads, predictions, importance."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headscope.atlas.atlas import Atlas
from headscope.atlas.bundled import bundled_atlas
from headscope.edits.live import switched_off
from headscope.emphasis import log_probability
from headscope.errors import BadInput
from headscope.measures.glossary import GLOSSARY
from headscope.reading import Reading, Scope
from headscope.surfaces.app.atlas import OpenedAtlas, opened_bytes
from headscope.surfaces.app.building import build, estimate
from headscope.surfaces.app.comparing import comparison
from headscope.surfaces.app.examples import for_page
from headscope.surfaces.app.export import export, runs_model
from headscope.surfaces.app.heads import head_facts
from headscope.surfaces.app.kept import Kept, KeptReading, kept_readings
from headscope.surfaces.app.media import for_page as media_examples
from headscope.surfaces.app.media import read_media
from headscope.surfaces.app.models import BUNDLED, Models
from headscope.surfaces.app.opened import opened
from headscope.surfaces.app.predictions import (
    attributed,
    importance,
    masked,
    predictions,
    score_page,
    weighed,
    writers,
)
from headscope.surfaces.app.request import (
    MOST_CHARACTERS,
    AttributeRequest,
    BuildRequest,
    CompareRequest,
    HeadAddress,
    HeadsOffRequest,
    MaskRequest,
    MediaReadRequest,
    NearestRequest,
    ReadRequest,
    WantedRequest,
    WeighRequest,
    WriteRequest,
    WritersRequest,
    changes_of,
)
from headscope.surfaces.app.writing import (
    Writing,
    begin,
    described,
    go_on,
    kept_writings,
    read_written,
)
from headscope.surfaces.tour import Step
from headscope.views import ViewData
from headscope.views.shared.labels import corpus_labels, scores_for
from headscope.views.wire.frame import layer_data, weightings_data

if TYPE_CHECKING:
    import pandas as pd


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
    readings: Kept[KeptReading] = field(default_factory=kept_readings)
    writings: Kept[Writing] = field(default_factory=kept_writings)
    atlases: dict[str, OpenedAtlas] = field(default_factory=dict)  # by model
    tour: Sequence[Step] = ()
    against: str | None = None  # the model that the first picture is compared with

    def welcome(self) -> dict[str, Any]:
        return {
            "models": [self.models.entry(name) for name in self.models],
            "default": self.models.default,
            "examples": for_page(),
            "media_examples": media_examples(),
            "max_characters": MOST_CHARACTERS,
            "glossary": GLOSSARY,
            "atlases": list(self.atlases),
            **({"tour": list(self.tour)} if self.tour else {}),
            **({"against": self.against} if self.against else {}),
        }

    def read(
        self, request: ReadRequest, name: str | None = None, *, every_layer: bool = False
    ) -> ViewData:
        """Read a text, a picture or a sound and keep it; the answer has one layer of it, or all."""
        written = None if request.writing is None else self.writings.get(request.writing)
        with self.models.lock(request.model, request.ticket):
            scope = switched_off(self.models.scope(request.model), changes_of(request))
            if isinstance(request, MediaReadRequest):
                reading = read_media(scope, request)  # decode one at a time
            elif request.documents:
                reading = _conversation(scope, request)
            elif written is None:
                reading = _read(scope, request.text, request.text_pair or None, request.truncate)
            else:
                reading = read_written(scope, written)
            more: dict[str, Any] = {}
            if written is not None and request.writing is not None:
                more["writing"] = described(scope, request.writing, written)
            # wait for a turn: for a long text this takes as much work and memory as the pass
            scores = scores_for(reading)
            pair = request.text_pair or None
            own = written is None and not request.documents
            text, pair = (request.text, pair) if own else _texts(reading)
            corpus = self._corpus_labels(request.model, reading)
            kept = KeptReading(
                request.model, scope, text, pair, reading, changes_of(request), scores, corpus
            )
            data = opened(kept, request.layer, every_layer=every_layer)
        more["id"] = self.readings.keep(kept, name)
        return ViewData({**data.header, **more}, data.buffers)

    def _corpus_labels(self, model: str, reading: Reading) -> pd.DataFrame | None:
        """The labels of the model's open atlas, else its own."""
        if model in self.atlases:
            return self.atlases[model].labels
        return corpus_labels(reading)

    def write(self, request: WriteRequest) -> dict[str, Any]:
        """Let the model write a few more tokens; the text is read on request."""
        name = request.writing
        model = request.model if name is None else self.writings.get(name).model
        off = changes_of(request) if name is None else self.writings.get(name).off
        with self.models.lock(model):
            scope = switched_off(self.models.scope(model), off)
            if name is None:
                name = self.writings.keep(begin(scope, model, request.text, off))
            writing = self.writings.get(name)
            go_on(scope, writing, request.count)
            return described(scope, name, writing)

    def atlas(self, model: str) -> OpenedAtlas:
        if model not in self.atlases:
            raise BadInput(f"No atlas of {model} is open; build one, or open its file.")
        return self.atlases[model]

    def nearest(self, request: NearestRequest) -> dict[str, Any]:
        kept = self.readings.get(request.id)
        atlas = self.atlas(kept.model)
        with self.models.lock(kept.model):
            return atlas.nearest(kept, request)

    def open_atlas(self, model: str, data: bytes) -> dict[str, Any]:
        """Open an atlas file from the page instead of the model's current one."""
        with self.models.lock(model):  # decompress one at a time
            self.atlases[model] = opened_bytes(data, self.models, model)
        return {"atlases": list(self.atlases)}

    def atlas_estimate(self, request: BuildRequest) -> dict[str, Any]:
        """How long building an atlas takes, from a trial."""
        with self.models.lock(request.model, request.ticket):
            return estimate(self.models.scope(request.model), request.text)

    def build_atlas(self, request: BuildRequest) -> dict[str, Any]:
        """Build the model's atlas and open it; the page can cancel it."""
        with self.models.lock(request.model, request.ticket):
            built = build(self.models.scope(request.model), request.text)
        self.atlases[request.model] = OpenedAtlas(built, self.models, request.model)
        return {"atlases": list(self.atlases)}

    def compare(self, request: CompareRequest) -> dict[str, Any]:
        return comparison(self.readings.get(request.id), self.readings.get(request.other))

    def tokens(self, request: ReadRequest) -> dict[str, Any]:
        """How many tokens a text has, and the limit; requested while it is typed."""
        if self.models.waiting(request.model):  # the next letter will request a count again
            return {"tokens": None, "limit": None, "unknown": 0}
        with self.models.lock(request.model):
            scope = self.models.scope(request.model)
            if scope.tokenizer is None:
                return {"tokens": None, "limit": None, "unknown": 0}
            return counted(scope, request.text, request.text_pair or None)

    def layer(self, at: HeadAddress) -> ViewData:
        return layer_data(self.readings.get(at.id).reading, at.kind, at.layer, at.head)

    def head(self, at: HeadAddress) -> dict[str, Any]:
        return head_facts(self.readings.get(at.id), at.kind, at.layer, at.head or 0)

    def predict(self, request: HeadsOffRequest) -> dict[str, Any]:
        kept = self.readings.get(request.id)
        if kept.why_no_predictions:
            return {"places": [], "note": kept.why_no_predictions}
        with self.models.lock(kept.model):
            return predictions(self.models.scope(kept.model), changes_of(request), kept)

    def wanted(self, request: WantedRequest) -> dict[str, float]:
        kept = self.readings.get(request.id)
        if kept.why_no_predictions:
            raise BadInput(kept.why_no_predictions)
        with self.models.lock(kept.model):
            scope = self.models.scope(kept.model)
            edited = switched_off(scope, changes_of(request))
            before, after = (
                log_probability(one, kept.text, request.answer) for one in (scope, edited)
            )
        return {"before": before, "after": after}

    def importance(self, request: HeadsOffRequest) -> dict[str, Any]:
        kept = self.readings.get(request.id)
        if kept.why_no_predictions:
            return {"heads": [], "note": kept.why_no_predictions}
        with self.models.lock(kept.model):
            return importance(
                switched_off(self.models.scope(kept.model), changes_of(request)), kept
            )

    def attribute(self, request: AttributeRequest) -> ViewData:
        kept = self.readings.get(request.id)
        if kept.why_no_predictions:
            raise BadInput(kept.why_no_predictions)
        with self.models.lock(kept.model):
            return attributed(kept, request.target, request.rather, request.token)

    def writers(self, request: WritersRequest) -> dict[str, Any]:
        kept = self.readings.get(request.id)
        with self.models.lock(kept.model):
            return writers(kept, request)

    def score(self, request: WritersRequest) -> ViewData:
        kept = self.readings.get(request.id)
        with self.models.lock(kept.model):
            return score_page(kept, request)

    def mask(self, request: MaskRequest) -> dict[str, str | None]:
        return masked(self.readings.get(request.id), request.token)

    def weigh(self, request: WeighRequest) -> ViewData:
        model = self.readings.get(request.id).model
        with self.models.lock(model):
            # look it up now: another request may have added a weighting meanwhile
            kept = self.readings.get(request.id)
            if kept.why_no_predictions:
                raise BadInput(kept.why_no_predictions)
            kept = weighed(kept, request.by, request.target)
            self.readings.keep(kept, request.id)
        return weightings_data(kept.reading)

    def export(self, name: str, query: Mapping[str, str]) -> tuple[bytes, str, str]:
        """The screen as a file; waits for its turn if the model must run."""
        kept = self.readings.get(name)
        other = self.readings.get(query["other"]) if query.get("other") else None
        with self.models.lock(kept.model) if runs_model(query) else contextlib.nullcontext():
            return export(kept, query, other)


def _read(scope: Scope, text: str, text_pair: str | None, truncate: bool) -> Reading:
    if not text.strip():
        raise BadInput("Type a sentence to read.")
    if scope.tokenizer is None:
        raise BadInput(f"{scope.name} reads no text; give it a picture or a sound.")
    second = None if scope.encoder_decoder else text_pair
    count, limit = token_count(scope, text, second), scope.max_tokens
    if limit is not None and count > limit and not truncate:
        raise TooLongError(
            f"The text has {count:,} tokens; {scope.name} reads at most {limit:,}.",
            count,
            limit,
        )
    return scope.read(text, text_pair, truncate=truncate)


def _conversation(scope: Scope, request: ReadRequest) -> Reading:
    """A question after messages and over documents, with its answer if one was typed."""
    if not request.text.strip():
        raise BadInput("Type a question after the messages or about the documents.")
    given = [
        {"title": one.title, "text": one.text} for one in request.documents if one.role is None
    ]
    said = [
        {"role": one.role, "content": one.text} for one in request.documents if one.role is not None
    ]
    answer = (request.text_pair or "").strip() or None
    said.append({"role": "user", "content": request.text})
    return scope.read(messages=said, documents=given, answer=answer)


def _texts(reading: Reading) -> tuple[str, str | None]:
    """The text that was read, prompt and answer together; with two stacks, each its own."""
    if "cross" in reading.parts:
        part = reading.part("cross")
        return "".join(part.key.texts), "".join(part.query.texts)
    return "".join(reading.texts), None


def counted(scope: Scope, text: str, text_pair: str | None) -> dict[str, Any]:
    second = None if scope.encoder_decoder else text_pair
    ids = scope.tokenizer(text, second, verbose=False)["input_ids"]
    unknown = getattr(scope.tokenizer, "unk_token_id", None)
    return {
        "tokens": len(ids),
        "limit": scope.max_tokens,
        "unknown": 0 if unknown is None else ids.count(unknown),
    }


def token_count(scope: Scope, text: str, text_pair: str | None) -> int:
    """The tokens of the whole text of any length, for the message if it does not fit."""
    return len(scope.tokenizer(text, text_pair, verbose=False)["input_ids"])


def session_over(models: Models, atlas: Atlas | None = None, tour: Sequence[Step] = ()) -> Session:
    """A session with the given atlas, or the bundled model's."""
    if atlas is None and models.default == BUNDLED:
        atlas = bundled_atlas()
    name = models.default
    opened = {} if atlas is None else {name: OpenedAtlas(atlas, models, name)}
    return Session(models, atlases=opened, tour=tour)
