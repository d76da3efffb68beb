"""Make the tables of docs/performance/probes.

    python examples/probe_tables.py DATA_FOLDER OUTPUT_FOLDER [MODEL ...]

DATA_FOLDER holds `ud_english_ewt/`, `ontogum/`, `litbank/`, `gap/` and `framenet/`; MODEL is a
folder or a hub name (`NAME=FOLDER` to call it something), `bundled` for the model that comes with
headscope. One Markdown file a model is written into OUTPUT_FOLDER; a table already there is not
made again.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd

import headscope as hs
from headscope.corpus.coreference.corpus import CoreferenceCorpus
from headscope.corpus.relations.corpus import Relations
from headscope.corpus.treebanks.treebank import Treebank


def dependency(scope: hs.Scope, data: Path) -> pd.DataFrame:
    bank = data / "ud_english_ewt"
    dev, test = (Treebank(bank / f"en_ewt-ud-{part}.conllu") for part in ("dev", "test"))
    return hs.probe.dependency(scope, dev, test).summary.drop(columns=["dev_accuracy", "dev_cases"])


def ontogum_trees(scope: hs.Scope, data: Path) -> pd.DataFrame:
    bank = Treebank(data / "ontogum" / "conllu.tar.xz", limit=4000)
    return hs.probe.dependency(scope, bank).summary.drop(columns=["dev_accuracy", "dev_cases"])


def coreference(scope: hs.Scope, data: Path, place: str) -> pd.DataFrame:
    return hs.probe.coreference(scope, CoreferenceCorpus(data / place)).summary


def relations(scope: hs.Scope, data: Path) -> pd.DataFrame:
    found = hs.probe.relations(scope, Relations(data / "framenet" / "framenet15_filtered.jsonl"))
    return pd.concat([found.best(v, 2) for v in found.heads["variant"].unique()]).drop(
        columns="lift"
    )


def probes(scope: hs.Scope, data: Path) -> pd.DataFrame:
    bank = data / "ud_english_ewt"
    train = Treebank(bank / "en_ewt-ud-train.conllu.xz", limit=1000)
    dev = Treebank(bank / "en_ewt-ud-dev.conllu", limit=300)
    test = Treebank(bank / "en_ewt-ud-test.conllu", limit=600)
    return hs.probe.all_heads(scope, train, dev, test).summary


TABLES: dict[str, Callable[[hs.Scope, Path], pd.DataFrame]] = {
    "Dependency heads, EWT": dependency,
    "Dependency heads, OntoGUM": ontogum_trees,
    "Coreference heads, OntoGUM": lambda s, d: coreference(s, d, "ontogum/conllu.tar.xz"),
    "Probes over all heads, EWT": probes,
    "Relation heads, FrameNet": relations,
    "Coreference heads, LitBank": lambda s, d: coreference(s, d, "litbank/conll.tar.xz"),
    "Coreference heads, GAP": lambda s, d: coreference(s, d, "gap/gap-validation.tsv"),
}


COMMAND = "python examples/probe_tables.py DATA docs/performance/probes"
HEADING = f"# Probes: {{name}}\n\nMade by `{COMMAND}`.\n\n"


def markdown(table: pd.DataFrame) -> str:
    cells = [[_cell(value) for value in row] for row in table.itertuples(index=False, name=None)]
    lines = [list(table.columns), ["---"] * len(table.columns), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _cell(value: object) -> str:
    if pd.isna(value):  # type: ignore[arg-type]
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def main() -> None:
    data, output, *models = (*sys.argv[1:3], *(sys.argv[3:] or ["bundled"]))
    Path(output).mkdir(parents=True, exist_ok=True)
    for model in models:
        name, _, place = model.rpartition("=")
        scope = hs.load(None if model == "bundled" else place, name=name or None)
        goal = Path(output) / f"{scope.name.replace('/', '_')}.md"
        done = goal.read_text() if goal.exists() else HEADING.format(name=scope.name)
        for title, make in TABLES.items():
            if f"## {title}\n" in done:
                continue
            start = time.perf_counter()
            done += f"## {title}\n\n{markdown(make(scope, Path(data)))}\n"
            goal.write_text(done)
            print(f"{scope.name}: {title} ({time.perf_counter() - start:.0f} s)", flush=True)
        print(f"Wrote {goal}")


if __name__ == "__main__":
    main()
