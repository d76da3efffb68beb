"""The study of Vig's seven patterns: which heads show them, and the neurons that do it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.errors import HeadscopeError
from headscope.studies.report import Report
from headscope.studies.run_study import study

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope
    from headscope.runs import Run
    from headscope.studies.vig.findings import Findings
    from headscope.studies.vig.texts import Corpus

EXAMPLES = 24  # corpus pairs read whole, to choose examples from
PREDICTIVE = 20  # texts for the leave-two-out measure
METHOD = """Every head is scored on every pattern over the corpus. A score is the mean over
documents of the attention that goes to the pattern's targets, averaged over the queries that have
a target; patterns of likeness are rank correlations. `lift` is the ratio to uniform
attention over all that the head sees. `null` is what the head would score if its weights were
dealt out at random among the keys the pattern chooses from, by an exact formula. `error`
is the standard error over documents. A head is labelled when it beats its null in two tests
(over permutations, and over documents) with a family-wise error of 1 % over all heads and
patterns (Holm), and when its score and lift reach what the pattern asks for.

For the reasons, each neuron's share in a score q·k is compared between the targets and all other
keys (Δ); the softmax is then computed again with only the first neurons and without them."""


@study
def vig(
    run: Run,
    scope: Scope,
    data: str | Path | None,
    limit: int | None,
    command: str | None,
) -> Report:
    """The seven patterns of Vig (2018, 2019) on any model, down to the neurons.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    data
        A folder with `wikitext/`, or a text file; by default headscope's own sentence pairs.
    limit
        How many sentence pairs to read; by default 200.
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
    >>> report = hs.studies.vig(hs.load(), limit=4, progress=False)
    >>> "claims" in report.tables
    True
    """
    from headscope.studies.vig.claims import claims
    from headscope.studies.vig.posts import LOOKING_BACK, SEVEN, SOURCE
    from headscope.studies.vig.sections import pattern_section
    from headscope.studies.vig.texts import corpus

    texts = corpus(scope, data, limit)
    found = _find(scope, texts, run)
    report = Report(
        title=f"Seven patterns of attention in {scope.name}",
        study="vig",
        model=scope.name,
        command=command or f"headscope study vig --model {scope.name} -o report.html",
        method=METHOD.replace("\n", " ").replace("  ", "\n\n"),
        settings={
            "corpus": texts.name,
            "sentence pairs": len(texts.pairs),
            "after": SOURCE,
            "error rate of labels": "1 % for any wrong label in the whole model",
        },
    )
    report.summary = _summary(found)
    run.tell(0, title="the posts' claims")
    report.section(
        "The posts' claims beside what was found",
        "The posts read bert-base-uncased; head numbers are its own and count from 0. "
        "`agrees` says whether the claim, put to this model by the measure beside it, holds.",
    ).table("claims", claims(found), published=["published"])
    _overview(report, found)
    sections = [*SEVEN, LOOKING_BACK] if scope.causal else list(SEVEN)
    for post in run.track(sections, "patterns", len(sections)):
        pattern_section(report, found, post)
    return report


def _find(scope: Scope, texts: Corpus, run: Run) -> Findings:
    from headscope.patterns import evidence
    from headscope.patterns.pattern import patterns
    from headscope.studies.heads_atlas import study_atlas
    from headscope.studies.vig.findings import Findings
    from headscope.studies.vig.texts import SENTENCE_A, SENTENCE_B, texts_for

    read = texts_for(scope, texts.pairs)
    left_out: dict[str, str] = {}
    # distances over all queries: the corpus is small, and the clusters are shown
    atlas = study_atlas(run, scope, read, ["entropy", "confidence"], distances=True)
    table = atlas.table
    guessed = run.table("predictive", lambda: _predictive(scope, texts, run))
    if "left out" in guessed:
        left_out["predictive"] = str(guessed["left out"].iloc[0])
    elif guessed.empty:
        left_out["predictive"] = "the model has no output layer of words."
    else:
        import pandas as pd

        table = pd.concat([table, guessed], ignore_index=True)
    post = texts_for(scope, [(SENTENCE_A, SENTENCE_B)])[0]
    run.tell(0, title="examples")
    examples = [
        scope.read(*([one] if isinstance(one, str) else one), truncate=True)
        for one in sorted(read, key=lambda one: len(" ".join(one)))[:EXAMPLES]
    ]
    return Findings(
        scope=scope,
        corpus=texts,
        scores=evidence.table(table, patterns()),
        post=scope.read(*([post] if isinstance(post, str) else post)),
        atlas=atlas,
        examples=examples,
        left_out=left_out,
    )


def _predictive(scope: Scope, texts: Corpus, run: Run) -> pd.DataFrame:
    import pandas as pd

    from headscope.patterns.leave_two_out import predictive

    short = sorted((first for first, _ in texts.pairs), key=len)
    middle = [text for text in short if 20 <= len(text) <= 90][:PREDICTIVE]
    try:
        return predictive(scope, middle, run=run)
    except HeadscopeError as error:
        return pd.DataFrame({"left out": [str(error)]})


def _summary(found: Findings) -> str:
    from headscope.patterns.pattern import patterns

    held: Any = found.scores[found.scores["labelled"]]
    heads = found.scores.groupby(["kind", "layer", "head"]).ngroups
    labelled = held.groupby(["kind", "layer", "head"]).ngroups
    known = patterns()
    kinds = held.groupby("pattern").size().sort_values(ascending=False)
    listed = ", ".join(f"{known[name].label} ({count})" for name, count in kinds.items())
    return (
        f"{labelled} of {heads} heads earn a label on {len(found.corpus.pairs)} sentence pairs. "
        f"They earn {len(held)} labels, because a head may show several patterns: "
        f"{listed or 'none'}. The others earn none, which is normal."
    )


def _overview(report: Report, found: Findings) -> None:
    import numpy as np

    from headscope.figures.of_heads.layer_head_map import layer_head_map
    from headscope.patterns.labels import in_order
    from headscope.studies.heads_atlas import show_heads

    section = report.section(
        "Every head",
        "The highest score of each head among the patterns that are shares of attention; outlined "
        "heads have a label.",
    )
    shares: Any = found.scores[found.scores["uniform"] > 0]
    best = shares.groupby(["layer", "head"])["score"].max()
    values = np.full((shares["layer"].max() + 1, shares["head"].max() + 1), np.nan)
    for (layer, head), score in best.items():
        values[layer, head] = score
    labels: Any = in_order(found.scores)
    mark = sorted({(int(row.layer), int(row.head)) for row in labels.itertuples()})
    section.figure(
        "heads",
        layer_head_map(values, f"{found.scope.name}: highest pattern score", "score", mark=mark),
        "Layers down, heads across.",
    )
    show_heads(
        section,
        found.atlas,
        "Every head as a point: drag over some to list them; the selected head with the examples "
        "behind its numbers.",
    )
    columns = ["layer", "head", "label", "score", "lift", "null", "error", "documents"]
    section.table("labels", labels[columns], f"All {len(labels)} labels, by head.")
