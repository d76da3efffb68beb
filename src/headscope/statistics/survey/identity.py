"""What makes two runs the same, so that one may go on where the other stopped."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import torch
from torch import nn

from headscope._version import __version__
from headscope.corpus.text.segments import Segment
from headscope.reading import Scope
from headscope.statistics.survey.portion import Settings

VALUES = 8  # numbers of each parameter that go into a model's fingerprint


def model_fingerprint(model: nn.Module) -> str:
    """Tells apart models that have one name: names, shapes and some values of all parameters."""
    digest = hashlib.sha256()
    for name, parameter in model.named_parameters():
        some = parameter.detach().flatten()[:VALUES].to("cpu", torch.float32)
        digest.update(f"{name}{tuple(parameter.shape)}{some.tolist()}".encode())
    return digest.hexdigest()[:16]


def scope_identity(scope: Scope) -> dict[str, Any]:
    """The model and the edits under which it runs."""
    dtype = str(next(scope.model.parameters()).dtype)
    return {
        "model": [scope.name, model_fingerprint(scope.model), dtype],
        "edits": [repr(edit) for edit in scope.edits],
    }


def identity(scope: Scope, settings: Settings, reading: dict[str, Any]) -> str:
    """One line that differs whenever the table could."""
    return json.dumps(
        {
            "version": __version__,
            **scope_identity(scope),
            "statistics": [statistic.name for statistic in settings.statistics],
            "settings": [
                settings.distances,
                settings.longest,
                settings.most_tokens,
                settings.token_types,
                settings.replicates,
                settings.seed,
            ],
            "reading": reading,
        },
        sort_keys=True,
    )


class Fingerprint:
    """A running digest of the segments read."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, segment: Segment) -> None:
        self._digest.update(segment.text.encode("utf-8", "surrogatepass") + b"\x00")
        self._digest.update((segment.pair or "").encode("utf-8", "surrogatepass") + b"\x01")

    @property
    def value(self) -> str:
        return self._digest.copy().hexdigest()[:32]
