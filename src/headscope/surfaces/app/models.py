"""Models the app may open: the bundled one and those named when it was started, no others."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headscope.errors import BadInput, HeadscopeError
from headscope.reading import Scope, load
from headscope.surfaces.app.examples import fitting
from headscope.surfaces.app.media import senses
from headscope.surfaces.app.turns import Queued, Turns
from headscope.surfaces.app.writing import can_write

BUNDLED = "bundled"


class Models:
    """Each model is opened once, on first use; requests name it by id, never by path."""

    def __init__(
        self,
        names: Sequence[str] = (),
        device: str | None = None,
        dtype: str | None = None,
        *,
        trust_remote_code: bool = False,
        scopes: Mapping[str, Scope] | None = None,
    ) -> None:
        """scopes: open models, by their ids."""
        self._options: dict[str, Any] = {
            "device": device,
            "dtype": dtype,
            "trust_remote_code": trust_remote_code,
        }
        self._sources: dict[str, str | None] = {BUNDLED: None}
        given = [BUNDLED if name == BUNDLED else self._named(name) for name in names]
        self.default = given[0] if given else BUNDLED
        self.second = given[1] if len(set(given)) == 2 else None  # beside which it opens
        self._scopes = dict(scopes or {})
        self._turns = {name: Turns() for name in self._sources}
        # transformers changes torch's global state while it makes a model
        self._opening = threading.Lock()

    def _named(self, name: str) -> str:
        """The id of a model in requests."""
        found = _identifier(name, self._sources)
        self._sources[found] = name
        return found

    def __iter__(self) -> Any:
        return iter(self._sources)

    def lock(self, name: str, ticket: str | None = None) -> contextlib.AbstractContextManager[None]:
        """Held while the model runs: one forward pass at a time per model, in order of arrival."""
        return self._turns[self._known(name)].turn(ticket)

    def waiting(self, name: str) -> int:
        """How many requests this model serves or queues."""
        return len(self._turns[self._known(name)])

    def queued(self, ticket: str) -> Queued:
        """How many requests come before the one with that ticket, and its progress."""
        found = (turns.queued(ticket) for turns in self._turns.values())
        return next((one for one in found if one is not None), Queued())

    def take_back(self, ticket: str) -> bool:
        """Cancel the request with that ticket; returns whether it was waiting or running."""
        return any(turns.take_back(ticket) for turns in self._turns.values())

    def scope(self, name: str) -> Scope:
        """The scope; at once for an open model, also while it is busy."""
        if name in self._scopes:
            return self._scopes[name]
        with self.lock(name), self._opening:
            if name not in self._scopes:
                self._scopes[name] = load(self._sources[name], **self._options)
            return self._scopes[name]

    def _known(self, name: str) -> str:
        if name not in self._sources:
            raise BadInput(
                f"The app may not open {name!r}; name it when starting: headscope app --model NAME."
            )
        return name

    def open(self, name: str) -> HeadscopeError | OSError | None:
        """Open a model ahead of its use; an error is raised when it is used."""
        try:
            self.scope(name)
        except (HeadscopeError, OSError) as error:
            return error
        return None

    def entry(self, name: str) -> dict[str, Any]:
        """A model's entry for the page; short if it is not open yet."""
        if name != self.default and name not in self._scopes:
            unknown: dict[str, Any] = {
                "layers": {},
                "heads": {},
                "causal": False,
                "encoder_decoder": False,
            }
            unknown |= {"writes": False, "masks": False}
            unknown |= {"sees": False, "hears": False, "reads": True}
            unknown["examples"] = fitting(unknown)
            return {"id": name, "title": name, "max_length": None, "predicts": True, **unknown}
        scope = self.scope(name)
        known = {
            "id": name,
            "title": scope.name,
            "layers": dict(scope.layers),
            "heads": dict(scope.heads),
            "causal": scope.causal,
            "encoder_decoder": scope.encoder_decoder,
            "max_length": scope.max_tokens,
            "predicts": _predicts(scope),
            "writes": can_write(scope),
            "masks": _fills_masks(scope),
            **senses(scope),
        }
        return known | {"examples": fitting(known)}


def _identifier(name: str, taken: Any) -> str:
    """A short id for a hub name or a folder: the last part of the path, numbered if taken."""
    short = Path(name).name if Path(name).exists() else name
    number, unique = 2, short
    while unique in taken:
        unique, number = f"{short}-{number}", number + 1
    return unique


def _fills_masks(scope: Scope) -> bool:
    """Whether it predicts masked words."""
    return "MaskedLM" in type(scope.model).__name__ or "PreTraining" in type(scope.model).__name__


def _predicts(scope: Scope) -> bool:
    """Whether it has an output layer over words (masked ones, or the next) or classes."""
    if "SequenceClassification" in type(scope.model).__name__:
        return scope.model.config.num_labels > 1
    return scope.model.get_output_embeddings() is not None
