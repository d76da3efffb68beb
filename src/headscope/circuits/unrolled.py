"""A model that runs one module as several layers, with a module for every layer.

Circuits tell layers apart by their modules. ALBERT runs one group of weights again and again; its
copy here shares those parameters between as many modules as layers.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import weakref
from typing import TYPE_CHECKING, Any

from torch import nn

if TYPE_CHECKING:
    from headscope.reading import Scope

_GROUPS = "albert_layer_groups"
_known: weakref.WeakKeyDictionary[nn.Module, Scope] = weakref.WeakKeyDictionary()


def unrolled(scope: Scope) -> Scope:
    """The scope itself, or one of the unrolled model under the same edits."""
    model: Any = scope.model
    found = [one for one in model.modules() if hasattr(one, _GROUPS)]
    if not found or _layers(model.config) == len(getattr(found[0], _GROUPS)):
        return scope
    if model not in _known:
        _known[model] = dataclasses.replace(scope, model=_copy(model), edits=(), shared={})
    return dataclasses.replace(_known[model], edits=scope.edits)


def _copy(model: Any) -> Any:
    kept = {id(one): one for one in itertools.chain(model.parameters(), model.buffers())}
    made: Any = copy.deepcopy(model, dict(kept))
    layers = _layers(model.config)
    for module in made.modules():
        if hasattr(module, _GROUPS):
            groups = list(getattr(module, _GROUPS))
            every = [groups[number * len(groups) // layers] for number in range(layers)]
            copies = [copy.deepcopy(group, _with_config(kept, made)) for group in every]
            setattr(module, _GROUPS, nn.ModuleList(copies))
    made.config.num_hidden_groups = layers
    return made


def _with_config(kept: dict[int, Any], made: Any) -> dict[int, Any]:
    """Copies share parameters and the configuration that capture switches."""
    return {**kept, id(made.config): made.config}


def _layers(configuration: Any) -> int:
    return int(configuration.num_hidden_layers)
