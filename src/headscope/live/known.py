"""A live page's data about its model beside the weights.

The page's own types are in web/src/live/known.ts.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import msgspec
import torch

from headscope.live import pictures
from headscope.live.graph import OF_PICTURES, Graph, example, family, run_graph
from headscope.measures import every
from headscope.measures.glossary import GLOSSARY
from headscope.models.open import NAME
from headscope.patterns.bundled_labels import bundled_labels
from headscope.patterns.pattern import patterns
from headscope.reading import Scope
from headscope.reading.inputs.generation import end_tokens
from headscope.reading.rotary import stored
from headscope.surfaces.app.examples import EXAMPLES, for_page
from headscope.surfaces.app.first import ID
from headscope.surfaces.app.models import BUNDLED, Models
from headscope.surfaces.app.request import MOST_CHARACTERS, MediaReadRequest, ReadRequest
from headscope.surfaces.app.session import Session
from headscope.surfaces.tour import read_tour
from headscope.text.spelling import (
    labels_of,
    listed,
    spelling_of,
    spells_bytes,
    stored_classes,
)
from headscope.text.tokens import STOPS
from headscope.views.shared.labels import as_labels

VERSION = 1


def known(scope: Scope, graph: Graph, asked: dict[str, Any]) -> dict[str, Any]:
    """Everything that the page's script needs to know about the model, as JSON.

    asked: the text of the first picture.
    """
    made = run_graph(graph, example(scope))
    part = None if graph.sees else scope.read_inputs({"input_ids": torch.arange(1, 6)[None]}).part()
    tokenizer: Any = scope.tokenizer
    return {
        "version": VERSION,
        "model": scope.name,
        "welcome": welcome(scope),
        "kind": "encoder" if part is None else part.kind,
        "causal": scope.causal,
        "heads": made["q"].shape[1],
        "groups": made["k"].shape[1],
        "dim": made["q"].shape[3],
        "rotary": None if part is None else stored(part.rotary),
        "layers": graph.layers,
        "inputs": graph.inputs,
        "outputs": graph.outputs,
        "max_tokens": scope.max_tokens,
        "vocabulary": None if graph.sees else vocabulary(tokenizer),
        "pictures": pictures.of_pictures(scope) if graph.sees else None,
        "unknown": getattr(tokenizer, "unk_token_id", None),
        "mask": getattr(tokenizer, "mask_token_id", None),
        "mask_token": getattr(tokenizer, "mask_token", None),
        "ends": [] if graph.sees else end_tokens(scope),
        "closes": getattr(tokenizer, "eos_token_id", None),
        "names_of_classes": _classes(scope),
        "measures": [
            {
                "name": measure.name,
                "title": measure.title,
                "note": measure.sentence,
                "unit": measure.unit,
                "is_share": measure.is_share,
                "origin": measure.origin,
            }
            for measure in every().values()
            if measure.yardstick_of is None
        ],
        "patterns": {
            name: {
                "label": pattern.label,
                "about": pattern.about,
            }
            for name, pattern in patterns().items()
        },
        "first": asked,
        "lessons": [asdict(one) for one in EXAMPLES],
        "corpus": _corpus(scope),
    }


def first_picture(scope: Scope) -> tuple[dict[str, Any], bytes]:
    """The page's first text and its answer, shown while the browser opens the model."""
    name, models = _models(scope)
    if family(scope) in OF_PICTURES:
        asked = {"id": ID, "text": "", "text_pair": None, "media": pictures.FIRST}
        request = MediaReadRequest(model=name, text="", media="example", name=pictures.FIRST)
        return asked, Session(models).read(request, ID, every_layer=True).container()
    example = EXAMPLES[models.entry(name)["examples"][0]]
    request = ReadRequest(model=name, text=example.text, text_pair=example.text_pair)
    asked = {"id": ID, "text": example.text, "text_pair": example.text_pair}
    return asked, Session(models).read(request, ID, every_layer=True).container()


def _models(scope: Scope) -> tuple[str, Models]:
    name = BUNDLED if scope.name == NAME else scope.name
    return name, Models([] if name == BUNDLED else [name], scopes={name: scope})


def welcome(scope: Scope) -> dict[str, Any]:
    """The answer to the page's first request, with one model."""
    name, models = _models(scope)
    entry = models.entry(name)
    return {
        "models": [entry],
        "default": name,
        "examples": for_page(),
        "media_examples": pictures.examples() if entry["sees"] else [],
        "max_characters": MOST_CHARACTERS,
        "glossary": GLOSSARY,
        "atlases": [],
        **({"tour": msgspec.to_builtins(read_tour("bundled"))} if name == BUNDLED else {}),
    }


def vocabulary(tokenizer: Any) -> dict[str, Any]:
    """Every token's label and class, by number, and which are full stops or commas."""
    ids = list(range(len(tokenizer)))
    spelled = spelling_of(tokenizer, ids)
    labels = labels_of(tokenizer, spelled)
    spaced = "".join(
        str(int(shown != label))
        for shown, label in zip(listed(tokenizer, ids), labels, strict=True)
    )
    both = zip(labels, spelled, strict=True)
    return {
        "labels": list(labels),
        # a digit a token: whether lists show the space before it; empty if they never do
        "spaced": spaced if "1" in spaced else "",
        "classes": stored_classes(tokenizer, ids, labels),
        "spells": _spells(tokenizer),
        "stops": [at for at, (of, token) in enumerate(both) if of in STOPS and token.endswith(of)],
    }


def _spells(tokenizer: Any) -> str:
    """Bytes as letters, ▁ before words, or ## within them."""
    if spells_bytes(tokenizer):
        return "bytes"
    marked = type(tokenizer.backend_tokenizer.model).__name__ in ("BPE", "Unigram")
    return "marks" if marked else "pieces"


def _classes(scope: Scope) -> list[str] | None:
    if "SequenceClassification" not in type(scope.model).__name__:
        return None
    names = scope.model.config.id2label
    return [str(names[number]) for number in range(scope.model.config.num_labels)]


def _corpus(scope: Scope) -> list[dict[str, Any]]:
    """The bundled model's labels over a corpus, one per head."""
    if scope.name != NAME:
        return []
    table: Any = bundled_labels()
    pattern_of = {one.label: name for name, one in patterns().items()}
    return [
        {**label.header(), "pattern": pattern_of[label.text]}
        for label in as_labels(table, "encoder")
    ]
