"""Run a model and make readings; run it a second time if whole maps are needed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from headscope.capture.call import Kind
from headscope.errors import HeadscopeError
from headscope.reading.arguments import (
    check_layers,
    check_pairs_and_targets,
    check_targets,
)
from headscope.reading.checks import note_warnings, padding_shows, padding_warning
from headscope.reading.collecting.collector import Collector, Way
from headscope.reading.collecting.keeping import Keeping, Layer, WhatToKeep
from headscope.reading.describe import Description
from headscope.reading.inputs.decoder_text import encode_both
from headscope.reading.predict import last_word_alone
from headscope.reading.reading import Reading
from headscope.text.tokenise import Text
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading.scope import Scope

# layers whose weights from q and k differ: their maps are kept from then on
_whole: WeakKeyDictionary[nn.Module, frozenset[Layer]] = WeakKeyDictionary()
_proven: WeakKeyDictionary[nn.Module, frozenset[Way]] = WeakKeyDictionary()


def read_texts(
    scope: Scope,
    texts: Sequence[Text],
    pairs: Sequence[Text | None],
    targets: Sequence[Text | None] | None,
    layers: Collection[int] | None,
    keep: WhatToKeep,
    memory: str | int | None,
    truncate: bool,
) -> list[Reading]:
    """One reading per text; of an encoder–decoder model the decoder reads targets or pairs."""
    keeping = Keeping.of(keep, memory)
    check_layers(scope, layers)
    check_targets(scope, targets)
    if not scope.encoder_decoder:
        batch = scope.encode(texts, pairs, truncate=truncate)
        return collect(scope, batch.inputs, batch.tokens, batch.tokens, layers, keeping)
    given = list(targets) if targets is not None else [None] * len(texts)
    check_pairs_and_targets(pairs, given)
    of_decoder = [b if a is None else a for a, b in zip(given, pairs, strict=True)]
    batch, decoder_tokens = encode_both(scope, texts, of_decoder, truncate=truncate)
    return collect(scope, batch.inputs, decoder_tokens, batch.tokens, layers, keeping)


def collect(
    scope: Scope,
    inputs: Mapping[str, Tensor],
    query: Sequence[Tokens],
    key: Sequence[Tokens],
    layers: Collection[int] | None,
    keeping: Keeping,
) -> list[Reading]:
    """One reading per input; `query` are the decoder's tokens, `key` the encoder's."""
    _check(scope, query, key, layers, keeping)
    counts = [len(tokens) for tokens in query], [len(tokens) for tokens in key]
    readings = run(scope, inputs, counts, layers, keeping).readings(query, key, scope.name)
    lengths = {len(read) for read in key}
    padded = len(lengths) > 1 and padding_shows(scope, max(lengths))
    for reading, read in zip(readings, key, strict=True):
        note_warnings(scope, reading, read, inputs, [padding_warning(scope)] if padded else [])
    return readings


def run(
    scope: Scope,
    inputs: Mapping[str, Tensor],
    counts: tuple[Sequence[int] | None, Sequence[int] | None],
    layers: Collection[int] | None,
    keeping: Keeping,
) -> Collector:
    """`counts` are the real queries and keys of each input; None keeps all positions there are."""
    known = _whole.get(scope.model, frozenset())
    described = _described(scope)
    count: dict[Kind, int] = {}
    if described is not None:
        count = {kind: len(numbers) for kind, numbers in described.layer_numbers.items()}

    def once(whole: frozenset[Layer]) -> Collector:
        proven = _proven.get(scope.model, frozenset())
        collector = Collector(*counts, keeping, layers, count, whole, proven)
        # lazily, so that other layers never compute their weights
        asked = last_word_alone(scope, inputs)
        scope.forward(inputs, collector, lazy=True, scores=keeping.wants_scores, **asked)
        return collector

    collector = once(known)
    wrong = collector.not_rebuilt()
    if not wrong:
        _proven[scope.model] = _proven.get(scope.model, frozenset()) | collector.tested
        return collector
    _whole[scope.model] = known | wrong
    del collector
    return once(known | wrong)


def _check(
    scope: Scope,
    query: Sequence[Tokens],
    key: Sequence[Tokens],
    layers: Collection[int] | None,
    keeping: Keeping,
) -> None:
    """Raise an error before the run if the reading would not fit."""
    described = _described(scope)
    if described is None:
        return
    item = next(scope.model.parameters()).element_size()
    lazy = Keeping.of("auto", keeping.most)
    size = lazily = 0
    for of_query, of_key in zip(query, key, strict=True):
        t, s = len(of_query), len(of_key)
        sizes: dict[Kind, tuple[int, int]] = {"encoder": (s, s), "decoder": (t, t), "cross": (t, s)}
        size += keeping.expected(described, sizes, layers, item)
        lazily += lazy.expected(described, sizes, layers, item)
    keeping.check(size, lazily)


def _described(scope: Scope) -> Description | None:
    """The description, or None for a model that only runs on special inputs."""
    try:
        return scope.description
    except HeadscopeError:
        return None
