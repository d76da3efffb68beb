"""Tables and figures of the bundled model's page and card, from the files in training/results.

    python -m training.report            # writes the page, the card and the figures
    python -m training.report --check    # says whether the tables are those of the results

In both texts a table stands between `<!-- table: name -->` and `<!-- end -->`; only what is
between the two is written.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from training.report.figures import emergence, resting_by_length
from training.report.tables import TABLES

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "training" / "results"
TEXTS = (
    ROOT / "docs" / "understand" / "bundled-model.md",
    ROOT / "src" / "headscope" / "models" / "bundled" / "README.md",
)
IMAGES = ROOT / "docs" / "images"
_PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def load(folder: Path = RESULTS) -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def filled(text: str, results: dict[str, Any]) -> str:
    """The text with every table made anew."""

    def table(match: re.Match[str]) -> str:
        if match[2] not in TABLES:
            raise SystemExit(f"There is no table {match[2]!r}; there are {', '.join(TABLES)}.")
        return f"{match[1]}{TABLES[match[2]](results)}\n{match[3]}"

    return _PLACE.sub(table, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    results = load()
    stale: list[str] = []
    for path in TEXTS:
        text = path.read_text(encoding="utf-8")
        made = filled(text, results)
        if made != text:
            stale.append(path.name)
        if not options.check:
            path.write_text(made, encoding="utf-8")
            print(f"-> {path.relative_to(ROOT)}")
    if options.check:
        sys.exit(f"Run python -m training.report: {', '.join(stale)}." if stale else 0)
    IMAGES.mkdir(parents=True, exist_ok=True)
    for draw, name in ((emergence, "emergence"), (resting_by_length, "resting")):
        path = IMAGES / f"bundled-{name}.svg"
        draw(results, path)
        print(f"-> {path.relative_to(ROOT)}")
