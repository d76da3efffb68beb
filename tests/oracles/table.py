"""The table of largest differences: `python -m tests.oracles.table > docs/reference/oracles.md`."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from tests.oracles import bertviz_pages, clark, eager_maps, loops, transformer_lens_patterns
from tests.oracles.comparison import installed

ORACLES = (eager_maps, loops, clark, bertviz_pages, transformer_lens_patterns)
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "oracles.md"
HEAD = """# Held against others

Every number below was computed twice: by headscope, and by a program or a definition from
elsewhere. The largest difference over all layers, heads, queries and keys is shown, with the most
that the test suite allows (`pytest tests/oracles`). Random models are tiny ones of that family with
large random weights, whose attention is far from uniform.

Made by `python -m tests.oracles.table > docs/reference/oracles.md`, on a CPU in float32, with
{versions}.

| oracle | model | what | numbers | largest difference | allowed |
|---|---|---|--:|--:|--:|
"""
SHOWN = ("torch", "transformers", "bertviz", "transformer-lens")


def rows_of(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("| ") and "oracle |" not in line]


def page() -> str:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in SHOWN)
    lines = [HEAD.format(versions=versions)]
    for oracle in ORACLES:
        if not installed(*oracle.PACKAGES):
            raise SystemExit(f"Install {', '.join(oracle.PACKAGES)} first.")
        for one in oracle.compare():
            lines.append(
                f"| {oracle.TITLE} | {one.model} | {one.what} | {one.numbers:,} | "
                f"{one.difference:.1e} | {one.allowed:.0e} |\n"
            )
    return "".join(lines)


if __name__ == "__main__":
    sys.stdout.write(page())
