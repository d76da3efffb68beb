"""What Does BERT Look At? (Clark et al. 2019), run on any model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.studies.report import Report
from headscope.studies.run_study import study

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.runs import Run
    from headscope.studies.clark.inputs import ClarkInputs

METHOD = (
    "The experiments of Clark et al. (2019) in the paper's order, on the model named above. Layers "
    "and heads are counted from 0; the paper counts from 1, and its numbers are converted. Text is "
    "cut into pairs of up to 128 tokens as the paper's code does; attention between words is the "
    "sum over the pieces of the word attended to and the mean over the pieces of the word that "
    "attends. The paper's numbers are BERT-base's; for a model of another depth they are read at "
    "the same relative depth."
)


@study
def clark(
    run: Run,
    scope: Scope,
    data: str | Path | None,
    limit: int | None,
    command: str | None,
) -> Report:
    """The experiments of Clark et al. (2019) in order.

    Those without data run on the shipped sample.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    data
        The folder with the study's data; by default the sample.
    limit
        How many segments to read at most.
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
    >>> report = hs.studies.clark(hs.load(), limit=100)  # doctest: +SKIP
    """
    from headscope.errors import BadInput
    from headscope.probes.passes import self_attention
    from headscope.studies.clark import combined, reference_heads, surface, syntax
    from headscope.studies.clark.clusters import clusters
    from headscope.studies.clark.gradients import gradients
    from headscope.studies.clark.inputs import ClarkInputs

    folder = None if data is None else Path(data)
    if folder is not None and not folder.is_dir():
        raise BadInput(f"There is no data folder {folder}; check the path.")
    inputs = ClarkInputs(scope, folder, limit)
    report = Report(
        title=f"What does {scope.name} look at?",
        study="clark",
        model=scope.name,
        command=command or f"headscope study clark --model {scope.name} -o report.html",
        method=METHOD,
        settings={"segments, at most": inputs.segments, "seed": 0},
    )
    kind = self_attention(scope)
    maps = surface.measure(inputs, run, kind)

    section = report.section("Relative position", "Section 3.1 of the paper, and its Fig. 1.")
    surface.relative_position(section, maps)
    surface.examples(section, inputs, maps)
    surface.separators(report.section("Special tokens", "Section 3.2, Fig. 2."), maps)
    section = report.section("Does attention to separators matter?", "Section 3.2, Fig. 3.")
    gradients(section, inputs, run, kind)
    surface.entropy(report.section("Focused and broad attention", "Section 3.3, Fig. 4."), maps)

    section = report.section("Dependency syntax", "Section 4.2, Table 1 and Fig. 5.")
    table: Any = syntax.dependency(section, inputs, run)
    section = report.section("Coreference", "Section 4.3, Table 2.")
    reference_heads.coreference(section, inputs, run)
    section = report.section("All heads together", "Section 5, Table 3.")
    combined.probes(section, inputs, run)

    clear = table[(table["above_baseline"] > 0.1) & (table["relation"] != "all")]
    pairs = zip(clear["layer"], clear["head"], clear["relation"], strict=True)
    named = {(int(layer), int(head)): str(relation) for layer, head, relation in pairs}
    section = report.section("Clusters of heads", "Section 6, Fig. 6.")
    clusters(section, inputs, run, kind, maps, named)

    if inputs.absent:
        section = report.section("What was run on the sample", "Too small for conclusions:")
        for note in inputs.absent:
            section.note(note[0].upper() + note[1:] + ".")
    report.summary = _summary(inputs, table)
    return report


def _summary(inputs: ClarkInputs, table: Any) -> str:
    best = table[table["relation"] != "all"].nlargest(3, "above_baseline")
    heads = ", ".join(
        f"{row.relation} (head {int(row.layer)}-{int(row.head)}, {row.accuracy:.0%} against "
        f"{row.baseline:.0%})"
        for row in best.itertuples()
    )
    ran = "the shipped sample" if len(inputs.absent) == 3 else "the data given"
    return f"Run on {ran}. Relations a single head finds best over their baseline: {heads}."
