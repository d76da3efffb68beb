"""A log of finished requests, read again one by one into a table of grounding."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.arguments import need_count, need_path, need_scope
from headscope.corpus.open_text import filled_lines
from headscope.errors import BadInput, HeadscopeError
from headscope.files import check_table, write_table
from headscope.grounding.ground import ground
from headscope.grounding.learned import HeadWeights
from headscope.grounding.requests import Request, request_of
from headscope.json_text import parse_json
from headscope.runs import ProgressCallback, Run, State, fingerprint, scope_identity

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope

MEASURED = ("gain", "by_chance", "least_expected")  # columns of a grounding's support


def ground_log(
    scope: Scope,
    log: str | Path,
    *,
    output: str | Path | None = None,
    weights: HeadWeights | None = None,
    limit: int | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
    **settings: Any,
) -> pd.DataFrame:
    """Ground every request of a log: a row per answer sentence.

    Parameters
    ----------
    scope
        The model that answered, or another to judge by.
    log
        A .jsonl file: an OpenAI-style request with its answer and `documents` on each line.
    output
        File for the table (.parquet or .csv); a stopped run resumes from the checkpoint beside it.
    weights
        Head weights of this model.
    limit
        How many requests at most.
    restart
        Start over instead of resuming.
    progress
        Whether to show a bar, or a function that is called instead.
    **settings
        Options of `hs.ground`: by, exact, passes, seed.

    Returns
    -------
    pandas.DataFrame
        request, sentence, text, verdict, source, gain, by_chance, least_expected, and the error of
        a request that could not be read.
    """
    import pandas as pd

    need_scope(scope)
    need_count(limit, "limit")
    where = None if output is None else check_table(output)
    requests = _requests(need_path(log))[:limit]
    identity = {
        **scope_identity(scope),
        "requests": fingerprint(requests),
        "settings": settings,
        "weights": None if weights is None else weights.weights,
    }
    rows: list[dict[str, Any]] = []
    with Run(where, identity, title="Grounding", restart=restart, progress=progress) as run:
        part = run.part("rows")
        state = part.recall()
        done = 0
        if state is not None:
            done, rows = int(state.position["requests"]), list(state.position["rows"])
        for number in range(done, len(requests)):
            with part.step(functools.partial(_state, number + 1, rows)):
                rows += _rows(scope, number, requests[number], weights, settings)
            run.tell(number + 1, len(requests))
        table = pd.DataFrame(rows)
        if where is not None:
            write_table(table, where)
    return table


def _state(requests: int, rows: list[dict[str, Any]]) -> State:
    return State({"requests": requests, "rows": rows})


def _requests(path: Path) -> list[str]:
    if not path.is_file():
        raise BadInput(f"There is no file {path}; give a log of requests as .jsonl.")
    lines = filled_lines(path)
    if not lines:
        raise BadInput(f"{path} is empty; it needs a request on each line.")
    return lines


def _rows(
    scope: Scope, number: int, line: str, weights: HeadWeights | None, settings: dict[str, Any]
) -> list[dict[str, Any]]:
    """A row per sentence of an answer, or one row with the error."""
    name = str(number)
    try:
        asked: Request = request_of(parse_json(line))
        name = asked.name or name
        if asked.answer is None:
            raise BadInput("The request has no answer.")
        found = ground(
            scope, asked.messages, asked.documents, asked.answer, weights=weights, most_heads=0,
            progress=False, **settings,
        )  # fmt: skip
    except (HeadscopeError, ValueError) as error:
        empty = {"sentence": -1, "text": None, "verdict": None, "source": None}
        unmeasured = dict.fromkeys(MEASURED)
        return [{"request": name, **empty, **unmeasured, "error": str(error)}]
    support: Any = found.support
    return [
        {
            "request": name,
            "sentence": int(row.sentence),
            "text": found.sentence_text(int(row.sentence)),
            "verdict": str(row.verdict),
            "source": row.source,
            **{name: float(getattr(row, name)) for name in MEASURED},
            "error": None,
        }
        for row in support.itertuples()
        if int(row.sentence) >= 0
    ]
