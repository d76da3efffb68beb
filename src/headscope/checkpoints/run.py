"""`hs.over_checkpoints`: surveys, patterns and circuit scores of a series, with a step axis."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from headscope.arguments import need_list, need_path
from headscope.checkpoints.files import digest, local
from headscope.checkpoints.result import OverCheckpoints
from headscope.circuits.weights.composition import composition
from headscope.circuits.weights.top_tokens import copying
from headscope.corpus.identity import corpus_identity, reads_once
from headscope.errors import BadInput
from headscope.files import check_table
from headscope.patterns.as_statistics import pattern_measures
from headscope.patterns.labels import pattern_table
from headscope.reading import load
from headscope.results import COLUMNS, of_layers, tidy
from headscope.runs import ProgressCallback, Run, fingerprint
from headscope.statistics.discovery import measurable
from headscope.surveys.run import survey

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope

Circuit = Literal["copying", "composition"]
CIRCUITS = {"copying": copying, "composition": composition}


def over_checkpoints(
    models: Sequence[str | Path] | str | Path,
    corpus: Any,
    *,
    statistics: Sequence[str] | None = None,
    circuits: Sequence[Circuit] = ("copying",),
    max_tokens: int | None = None,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    seed: int = 0,
    device: str | None = None,
    dtype: str | None = None,
) -> OverCheckpoints:
    """Measure the same heads at every step of a training.

    Parameters
    ----------
    models
        Folders, GGUF files, hub names or revisions (name@revision), or one folder that holds step
        folders. The last number in a name is its step; without numbers steps count from 0. Steps
        whose files are the same are measured once.
    corpus
        What `hs.survey` takes; every checkpoint reads the same.
    statistics
        Names of statistics beside the patterns; the standard ones if left out.
    circuits
        Scores from weights: "copying", "composition".
    max_tokens
        The most tokens of a text.
    limit
        Only the first texts.
    output
        Where the result is written (.parquet); finished checkpoints are kept, and a stopped run
        resumes.
    restart
        Whether to forget what such a run kept.
    progress
        Whether to show progress, or a function that is called with it.
    seed
        Of what the survey draws.
    device
        Where checkpoints run, such as "cuda".
    dtype
        Precision of their weights, such as "bfloat16".

    Returns
    -------
    OverCheckpoints
        Lines per head, change points, when labels appear and stay, similarity between steps.

    Examples
    --------
    >>> found = hs.over_checkpoints("decoder-0", "corpus.txt")  # doctest: +SKIP
    >>> found.changes("induction")  # doctest: +SKIP
    """
    import pandas as pd

    if output is not None:
        check_table(output, "A series")
    wrong = [one for one in circuits if one not in get_args(Circuit)]
    if wrong:
        raise BadInput(f"circuits= lists any of {', '.join(get_args(Circuit))}, not {wrong[0]!r}.")
    if reads_once(corpus):
        raise BadInput(
            "Every checkpoint reads the corpus, and this one can be read only once; save it to a "
            "file, or pass a list."
        )
    series = in_order(models)
    identity = {
        "models": [str(one) for _, one in series],
        "corpus": corpus_identity(corpus) or fingerprint(str(corpus)),
        "settings": [statistics, tuple(circuits), max_tokens, limit, seed, str(dtype)],
    }
    tables: list[pd.DataFrame] = []
    labels: list[pd.DataFrame] = []
    title = "Measuring checkpoints"
    with Run(output, identity, title=title, restart=restart, progress=progress) as run:
        same: dict[str, tuple[pd.DataFrame, pd.DataFrame]] = {}
        for number, (step, model) in enumerate(series):
            run.tell(number, len(series), note=f"step {step}")
            files = run.table(f"files-{step}", lambda one=model: _files(one))
            weights = str(files["digest"].iloc[0])

            @functools.cache
            def measured(
                model: str | Path = model, weights: str = weights
            ) -> tuple[pd.DataFrame, pd.DataFrame]:
                if weights in same:  # the same files as another step, not read again
                    return same[weights]
                scope = load(local(model), device=device, dtype=dtype)
                return _measured(scope, corpus, statistics, circuits, max_tokens, limit, seed)

            table = run.table(f"step-{step}", lambda made=measured: made()[0])
            names = run.table(f"labels-{step}", lambda made=measured: made()[1])
            same[weights] = table, names
            tables.append(table.assign(step=step))
            labels.append(names.assign(step=step))
        every = pd.concat(tables, ignore_index=True)
        last: Any = every[every["step"] == series[-1][0]].drop(columns="step")
        found = OverCheckpoints(
            tuple(str(one) for _, one in series),
            tuple(step for step, _ in series),
            last.reset_index(drop=True),
            every,
            pd.concat(labels, ignore_index=True),
        )
        if output is not None:
            found.save(output)
    return found


def in_order(models: Sequence[str | Path] | str | Path) -> list[tuple[int, str | Path]]:
    """Steps and models, the earliest first."""
    if isinstance(models, str | Path):
        folder = Path(models)
        if not folder.is_dir():
            raise BadInput(f"There is no folder {folder} of checkpoints; give one, or a list.")
        found = [one for one in folder.iterdir() if (one / "config.json").is_file()]
        found += sorted(folder.glob("*.gguf"))
        models = sorted(found) if found else [folder]
    need_list(models, "models", "['step-1', 'step-2']")
    for one in models:
        need_path(one)
    if len(models) < 2:
        raise BadInput("A series needs at least two checkpoints; give a folder or a list of them.")
    numbers = [re.findall(r"\d+", Path(one).name) for one in models]
    named = all(numbers)
    steps = [int(found[-1]) for found in numbers] if named else list(range(len(models)))
    if len(set(steps)) != len(steps):
        raise BadInput(
            "Two checkpoints have the same step, which is the last number in their names; "
            "rename them, such as model-1000 and model-2000."
        )
    return sorted(zip(steps, models, strict=True), key=lambda one: one[0])


def _files(model: str | Path) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({"digest": [digest(local(model))]})


def _measured(
    scope: Scope,
    corpus: Any,
    statistics: Sequence[str] | None,
    circuits: Sequence[Circuit],
    max_tokens: int | None,
    limit: int | None,
    seed: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table of one checkpoint, and the labels that hold."""
    import pandas as pd

    standard = measurable(scope, statistics)[0]
    found = survey(
        scope, corpus, [*standard, *pattern_measures(scope)], max_tokens=max_tokens, limit=limit,
        seed=seed, progress=False,
    )  # fmt: skip
    measured: Any = found.table
    parts: list[Any] = [measured[measured["measure"].isin([one.name for one in standard])]]
    scored: Any = pattern_table(found).rename(
        columns={"pattern": "measure", "score": "value", "documents": "count"}
    )
    parts.append(scored[~scored["measure"].isin(parts[0]["measure"])])
    for name in circuits:
        attending = scope.layer_numbers[scope.kinds[0]]
        parts.append(of_layers(CIRCUITS[name](scope).table, attending))
    table: Any = pd.concat([tidy(part)[list(COLUMNS)] for part in parts], ignore_index=True)
    holds: Any = scored[scored["labelled"].astype(bool)].rename(columns={"measure": "label"})
    return table, holds[["kind", "layer", "head", "label"]]
