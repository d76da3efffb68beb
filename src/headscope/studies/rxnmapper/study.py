"""Which head of RXNMapper maps atoms: all heads ranked by mapped reactions."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.studies.report import Report
from headscope.studies.run_study import study
from headscope.studies.rxnmapper.model import open_model

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope
    from headscope.roles.result import FoundHeads
    from headscope.runs import Run
    from headscope.studies.rxnmapper.reactions import Reaction

LAYER, HEAD = 10, 5  # of the package's code: `head = 5`, `layers = [10]`
REACTIONS = 200
METHOD = (
    "RXNMapper is an ALBERT of 12 layers that share their weights, with 8 heads. Its authors chose "
    "head 5 of layer 10 by looking at maps of many reactions. Here every head is scored by "
    "reactions whose atoms were mapped by hand: how often a product atom's largest weight among "
    "precursor atoms of its element goes to its origin. Atoms that symmetry exchanges are equally "
    "right. `guided` then assigns atoms as the package does: the surest first, neighbours of "
    "mapped atoms raised 90 times, no precursor atom used twice."
)


@study(opens=open_model)
def rxnmapper(
    run: Run,
    scope: Scope,
    data: str | Path | None,
    limit: int | None,
    command: str | None,
) -> Report:
    """Heads of RXNMapper by mapped reactions.

    Parameters
    ----------
    scope
        The model, as `hs.load` opens it.
    data
        A file with an atom-mapped reaction in every line.
    limit
        How many reactions to read at most.
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
    >>> scope = hs.load("rxnmapper")  # doctest: +SKIP
    >>> report = hs.studies.rxnmapper(scope, "Golden.csv")  # doctest: +SKIP
    """
    from headscope.corpus.bad_data import Faults
    from headscope.errors import BadInput
    from headscope.roles.fields import ATOMS
    from headscope.roles.find import search
    from headscope.studies.rxnmapper.reactions import read

    if data is None:
        raise BadInput(
            "The study needs atom-mapped reactions; give a file with --data, such as Golden.csv "
            "of the package synrbl."
        )
    faults = Faults()
    reactions = list(islice(read(Path(data), faults), limit or REACTIONS))
    run.tell(0, title="scoring heads")
    found = search(
        scope, [one.linked for one in reactions], ATOMS, lists={"published": [(LAYER, HEAD)]},
        progress=False,
    )  # fmt: skip
    faults.add(found.faults)
    report = Report(
        title="The head of RXNMapper that maps atoms",
        study="rxnmapper",
        model=scope.name,
        command=command or "headscope study rxnmapper --model FOLDER --data mapped.csv",
        method=METHOD,
        settings={
            "reactions": found.documents,
            "atoms": found.cases,
            "left out": faults.summary().removeprefix("left out: ") or "nothing",
        },
    )
    layer = of_layer(found)
    section = report.section("Heads of the published layer")
    section.table("layer", layer, f"Layer {LAYER}, both directions; head {HEAD} is published.")
    section.figure("heads", found.plot("precision both"), "Precision of every head, both ways.")
    section.table("best", _shown(found.top("precision both", 12)), "The best heads of all layers.")
    section.table("together", found.together, "Chosen on one half, scored on the other.")
    decoded = guided_accuracy(scope, reactions, run)
    report.section("Assigned as the package does").table("guided", decoded)
    values: Any = layer["value"]
    first, second = values.nlargest(2)
    best: Any = layer.loc[values.idxmax()]
    report.summary = (
        f"Head {int(best['head'])} is first of 8 in layer {LAYER}: {first:.1%} of {found.cases} "
        f"atoms, against {second:.1%} for the next head and {best['null']:.1%} by shuffled labels. "
        f"Assigned as the package does, {float(decoded['accuracy'].iloc[0]):.1%} are right."
    )
    return report


def of_layer(found: FoundHeads) -> pd.DataFrame:
    """The heads of the published layer, in both directions together."""
    rows: Any = found.rows("precision both")
    return _shown(rows[rows["layer"] == LAYER])


def _shown(rows: Any) -> pd.DataFrame:
    return rows[["layer", "head", "value", "low", "high", "null", "p_holm"]].reset_index(drop=True)


def guided_accuracy(scope: Scope, reactions: list[Reaction], run: Run) -> pd.DataFrame:
    """Atoms that the published head maps right, assigned as the package assigns them."""
    import numpy as np
    import pandas as pd

    from headscope.errors import TextTooLong
    from headscope.studies.rxnmapper.reactions import assigned

    right = atoms = whole = read = 0
    for one in run.track(reactions, "assigning atoms", len(reactions)):
        try:
            reading = scope.read(one.linked.text, layers=[LAYER])
        except TextTooLong:
            continue
        maps = np.asarray(reading.part("encoder").head_weights(LAYER, HEAD), dtype=np.float64)
        starts = reading.part("encoder").query.spans[:, 0].tolist()
        products = [starts.index(span[0]) for span in one.linked.queries]
        precursors = [starts.index(span[0]) for span in one.linked.candidates]
        scores = maps[np.ix_(products, precursors)] + maps[np.ix_(precursors, products)].T
        chosen = assigned(scores, one)
        mapped = one.right.any(1)
        hits = one.right[np.arange(len(chosen)), chosen] & (chosen >= 0) & mapped
        right, atoms = right + int(hits.sum()), atoms + int(mapped.sum())
        whole, read = whole + bool((hits == mapped).all()), read + 1
    frame = {"accuracy": right / max(atoms, 1), "atoms": atoms,
             "whole reactions": whole / max(read, 1), "reactions": read}  # fmt: skip
    return pd.DataFrame([frame])
