"""Whisper's alignment heads: all cross heads ranked by their timing of words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.studies.report import Report
from headscope.studies.run_study import study
from headscope.studies.whisper.model import PUBLISHED, open_model

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope
    from headscope.roles.result import FoundHeads
    from headscope.runs import Run

METHOD = (
    "OpenAI's code lists alignment heads for each Whisper, chosen as those whose cross attention "
    "is highly correlated with word timing; the list's making was not published. Here every "
    "decoder cross head is scored against word times of an aligner that knows nothing of Whisper. "
    "Attention is shared out over the moments of the sound and standardised over tokens, as "
    "Whisper does, smoothed by a median over 7 moments and warped in time; pauses are taken off "
    "words. `time error` is the mean absolute error of starts and ends. "
    "Heads together are chosen on every second recording and scored on the others."
)


@study(opens=open_model)
def whisper(
    run: Run,
    scope: Scope,
    data: str | Path | None,
    limit: int | None,
    command: str | None,
) -> Report:
    """Cross heads of a speech model by word times.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    data
        A folder of recordings with word times.
    limit
        How many recordings to read at most.
    output
        Write the page to this file. Finished steps are kept beside it, and a stopped run resumes.
    restart
        Start over instead of resuming.
    progress
        Show progress, or call a function with it.
    command
        The command that the page names as its source; by default that of the study.

    Returns
    -------
    Report
        Sections with tables, figures and views; `report.tables` has the tables by name.

    Examples
    --------
    >>> import headscope as hs
    >>> scope = hs.load("openai/whisper-tiny.en")  # doctest: +SKIP
    >>> report = hs.studies.whisper(scope, "clips")  # doctest: +SKIP
    """
    from headscope import probe
    from headscope.errors import BadInput

    if data is None:
        raise BadInput(
            "The study needs recordings with word times; give a folder with --data: .wav files, "
            "each with a .TextGrid, .ctm or .json of the same name."
        )
    named = published(scope)
    run.tell(0, title="timing words by every head")
    found = probe.speech(
        scope, data, most_heads=8, limit=limit, progress=False,
        lists={"published": named} if named else None,
    )  # fmt: skip
    report = Report(
        title=f"Alignment heads of {scope.name}",
        study="whisper",
        model=scope.name,
        command=command or "headscope study whisper --model tiny.en.pt --data clips",
        method=METHOD,
        settings={
            "recordings": found.documents,
            "tokens": found.cases,
            "left out": found.faults.summary().removeprefix("left out: ") or "nothing",
        },
    )
    ranked = every_head(found, named)
    section = report.section("Every cross head, the best first")
    section.table("heads", ranked, "Error in seconds; AUC over the moments of each token.")
    section.figure("map", found.plot(), "Time error of every cross head, in seconds.")
    section = report.section("Heads together", "The mean of standardised maps, warped once.")
    section.table("together", found.together, "Chosen on one half, scored on the other, seconds.")
    if found.maps:
        section.figure("words", found.draw(0), "One recording, by the best head.")
    report.summary = _summary(found, ranked, named)
    return report


def published(scope: Scope) -> list[tuple[int, int]]:
    """The published heads: from the generation configuration, or the package."""
    config: Any = getattr(scope.model, "generation_config", None)
    given = getattr(config, "alignment_heads", None)
    name = scope.name.split("/")[-1].removeprefix("whisper-")
    return [(int(layer), int(head)) for layer, head in given or PUBLISHED.get(name, ())]


def every_head(found: FoundHeads, named: list[tuple[int, int]]) -> pd.DataFrame:
    """Heads by time error, with AUC and whether they are published."""
    rows: Any = found.top(n=len(found.rows()))
    other: Any = found.rows("auc").set_index(["layer", "head"])["value"]
    heads = list(zip(rows["layer"], rows["head"], strict=True))
    return rows[["layer", "head", "value", "low", "high"]].assign(
        auc=[float(other[one]) for one in heads], published=[one in named for one in heads]
    )


def ranking(ranked: pd.DataFrame) -> dict[str, float]:
    """How well each score puts published heads first: the AUC of its ranking."""
    from sklearn.metrics import roc_auc_score

    labels: Any = ranked["published"]
    return {
        "time error": float(roc_auc_score(labels, -ranked["value"])),
        "auc": float(roc_auc_score(labels, ranked["auc"])),
    }


def _summary(found: FoundHeads, ranked: pd.DataFrame, named: list[tuple[int, int]]) -> str:
    best = ", ".join(f"{layer}-{head}" for layer, head in found.heads())
    if not named:
        return f"The heads {best} time words best together; this model has no published list."
    ranks, rows = ranking(ranked), found.together.set_index("method")
    own: Any = found.together[found.together["heads"] == best.replace(",", "")].iloc[0]
    theirs: Any = rows.loc["published"]
    return (
        f"Published heads are ranked first with an AUC of {ranks['time error']:.3f} by time error "
        f"and {ranks['auc']:.3f} by AUC over moments. The chosen heads {best} time words to "
        f"{own['value']:.3f} s [{own['low']:.3f}, {own['high']:.3f}] where they were not chosen, "
        f"the published list to {theirs['value']:.3f} s "
        f"[{theirs['low']:.3f}, {theirs['high']:.3f}]. The difference, paired over recordings, is "
        f"{own['difference']:.3f} s [{own['difference_low']:.3f}, {own['difference_high']:.3f}]."
    )
