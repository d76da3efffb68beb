"""A study as a run: its checkpoint has the finished tables until the report is written."""

from __future__ import annotations

import functools
from collections.abc import Callable
from inspect import Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.arguments import need_count
from headscope.studies.report import Report, check_page

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.runs import ProgressCallback

TAKEN = 5  # run, scope, data, limit, command


def study(
    experiments: Callable[..., Report] | None = None, *, opens: Callable[..., Scope] | None = None
) -> Any:
    """Make a study of experiments `(run, scope, data, limit, command, …) -> Report`.

    `opens` opens a model that only this study knows, from the command's options.
    """
    if experiments is None:
        return functools.partial(study, opens=opens)

    @functools.wraps(experiments, ("__module__", "__name__", "__qualname__", "__doc__"))
    def on_model(
        scope: Scope,
        data: str | Path | None = None,
        *,
        limit: int | None = None,
        output: str | Path | None = None,
        restart: bool = False,
        progress: bool | ProgressCallback = True,
        command: str | None = None,
        **options: Any,
    ) -> Report:
        from headscope.corpus.identity import data_identity
        from headscope.models.loading_report import check_weights
        from headscope.runs import Run, scope_identity

        need_count(limit, "limit")
        if output is not None:
            check_page(output)
        check_weights(scope.model, scope.name)
        name = experiments.__name__
        identity = {
            **scope_identity(scope),
            "study": name,
            "data": data_identity(data),
            "settings": {"limit": limit, **{k: _described(v) for k, v in options.items()}},
        }
        with Run(output, identity, title=name, restart=restart, progress=progress) as run:
            report = experiments(run, scope, data, limit, command, **options)
            if output is not None:
                report.save(output)
        return report

    made: Any = on_model
    made.opens = opens
    del made.__wrapped__
    made.__signature__ = _signature(on_model, experiments)
    return made


def _signature(run: Callable[..., Report], experiments: Callable[..., Report]) -> Signature:
    """What a run takes, and what these experiments alone take."""
    shared, own = signature(run), list(signature(experiments).parameters.values())[TAKEN:]
    *first, _ = shared.parameters.values()  # the last is **options
    return shared.replace(parameters=[*first, *(one.replace(kind=one.KEYWORD_ONLY) for one in own)])


def _described(value: Any) -> object:
    """An option's identity; models are identified by their weights."""
    from headscope.corpus.identity import data_identity
    from headscope.runs import scope_identity

    if isinstance(value, dict):
        return {str(name): _described(one) for name, one in value.items()}  # pyright: ignore
    if hasattr(value, "model") and hasattr(value, "edits"):
        return scope_identity(value)
    return data_identity(value)
