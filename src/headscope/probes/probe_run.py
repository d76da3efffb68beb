"""A probe as a run: identified by the model's weights, its data and its settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.files import check_table
from headscope.models.loading_report import check_weights
from headscope.probes.data import Data
from headscope.runs import ProgressCallback, Run, scope_identity

if TYPE_CHECKING:
    from headscope.reading import Scope


def probe_run(
    scope: Scope,
    data: Iterable[Data[Any]],
    settings: Sequence[Any],
    *,
    title: str,
    output: str | Path | None,
    restart: bool,
    progress: bool | ProgressCallback,
) -> Run:
    """The run, not yet begun; an unusable output or model raises an error at once."""
    if output is not None:
        check_table(output)
    check_weights(scope.model, scope.name)
    digests = [part.digest for part in data]
    identity = {**scope_identity(scope), "data": digests, "settings": list(settings)}
    return Run(output, identity, title=title, restart=restart, progress=progress)
