"""Run a model once and make readings of what it attended to; a second time where that is needed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from headscope.capture.call import Kind
from headscope.errors import HeadscopeError
from headscope.reading.checks import note_warnings
from headscope.reading.collecting.collector import Collector, Way
from headscope.reading.collecting.keeping import Keeping, Layer
from headscope.reading.describe import Description
from headscope.reading.predict import last_word_alone
from headscope.reading.reading import Reading
from headscope.text.tokens import Tokens

if TYPE_CHECKING:
    from headscope.reading.scope import Scope

# layers whose weights were found not to come out of q and k: their maps are kept from then on
_whole: WeakKeyDictionary[nn.Module, frozenset[Layer]] = WeakKeyDictionary()
_proven: WeakKeyDictionary[nn.Module, frozenset[Way]] = WeakKeyDictionary()


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
    for reading, read in zip(readings, key, strict=True):
        note_warnings(scope, reading, read, inputs)
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
        # lazily, so that layers nobody asked for never make their weights
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
    """Refuse, before anything runs, what would not fit."""
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
    """None for a model that only runs on inputs of its own."""
    try:
        return scope.description
    except HeadscopeError:
        return None
