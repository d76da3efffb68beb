"""Numbers in the pages are those of the stored output of the command that is named beside them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import headscope as hs

DOCS = Path(__file__).parents[1] / "docs"
PROBES = DOCS / "performance" / "probes"
MODELS = ("headscope-bundled", "all-MiniLM-L6-v2")
RELATION = re.compile(
    r"^\| `(\w+)` \(([\d,]+)\) \| (\.\d+) \| \**(\.\d+)\** head (\d+)-(\d+) "
    r"\| \**(\.\d+)\** head (\d+)-(\d+) \|$",
    re.M,
)


def table(model: str, title: str) -> dict[str, list[str]]:
    """The rows of a table that examples/probe_tables.py wrote, by their first cell."""
    text = (PROBES / f"{model}.md").read_text().split(f"## {title}\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return {row[0]: row for row in rows[2:]}


def test_the_summary_of_dependency_heads_is_that_of_the_tables() -> None:
    rows = RELATION.findall((PROBES / "index.md").read_text())
    assert len(rows) == 7
    tables = [table(model, "Dependency heads, EWT") for model in MODELS]
    for name, cases, baseline, *heads in rows:
        for of, (accuracy, layer, head) in zip(tables, (heads[:3], heads[3:]), strict=True):
            row = of[name]
            assert row[1] == cases.replace(",", "")
            assert row[2:4] == [layer, head]
            assert (row[5], row[8]) == (f"0{accuracy}", f"0{baseline}"), name


def test_the_summary_of_all_heads_is_that_of_the_tables() -> None:
    page = (PROBES / "index.md").read_text()
    for place, model in enumerate(MODELS):
        for name, row in table(model, "Probes over all heads, EWT").items():
            line = re.search(rf"^\| {re.escape(name)} \|(.*)$", page, re.M)
            if line is not None:
                shown = line[1].split("|")[place].strip(" *")
                assert f"0{shown}" == row[1], (model, name)


@pytest.mark.slow
def test_the_legend_of_weightings_says_what_the_guide_says() -> None:
    guide = (DOCS / "how-to" / "circuits.md").read_text()
    reading = hs.circuits.with_weightings(hs.load(), "I went to the [MASK] .", target="store")
    shown = reading.part().weightings["norm"].label
    assert shown in guide.replace("\n", " ")
