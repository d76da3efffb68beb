"""Section 4.3, Table 2: heads for coreference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from headscope.corpus.coreference.corpus import CoreferenceCorpus
from headscope.probes.coreference.heads import coreference as probe_coreference
from headscope.studies.clark.inputs import ClarkInputs, printed, reference
from headscope.studies.pieces import Section

if TYPE_CHECKING:
    from headscope.runs import Run


def coreference(section: Section, inputs: ClarkInputs, run: Run) -> dict[str, pd.DataFrame]:
    """Every corpus with both candidate sets, beside the paper's numbers."""
    whole = {"layer": "Int64", "head": "Int64"}
    section.table(
        "coreference_paper",
        printed(pd.DataFrame(reference()["coreference"]["rows"]).astype(whole)),
        f"Table 2 of the paper ({reference()['coreference']['corpus']}).",
        published=["all", "pronoun", "proper", "nominal"],
    )
    found: dict[str, pd.DataFrame] = {}
    for name, path in inputs.coreference().items():
        step = f"coreference_{name.lower()}"

        def compute(path: object = path, step: str = step) -> pd.DataFrame:
            documents = CoreferenceCorpus(str(path), limit=inputs.limit)
            return probe_coreference(
                inputs.scope, documents, output=run.place(f"{step}.probe.parquet"),
                progress=run.show,
            ).summary  # fmt: skip

        found[name] = run.table(step, compute)
        caption = f"{name}: the share of mentions whose antecedent gets the most attention."
        section.table(step, printed(found[name]), caption)
    section.text(
        "The paper does not say among which words the head chooses. Both readings are shown: all "
        "other words of the text, and the heads of the mentions before. Heads are chosen on every "
        "second document and scored on the others; `low` and `high` belong to `all`."
    )
    return found
