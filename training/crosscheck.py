"""The package's own pattern scores of the bundled model, beside the recipe's.

    python -m training.crosscheck held-out=corpus/part-00.txt.xz wikitext=wiki.valid.raw \\
        -o training/results/package.json

The recipe scores patterns with its own code on inputs of exactly 64, 128 and 512 tokens; the
package surveys text of any kind. From a corpus of the recipe (`.txt.xz`) only held-out
documents are taken; other files are read as the package reads them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headscope as hs
from training.condense import rounded
from training.corpus import documents, is_held_out

NAMES = (
    "next_word",
    "previous_word",
    "same_word",
    "same_word_other",
    "sibling_pieces",
    "delimiter",
    "bag_of_words",
)
COLUMNS = ("layer", "head", "score", "error", "uniform", "lift", "null", "p", "documents")


def held_out(path: Path) -> Iterator[str]:
    for document in documents(path):
        if is_held_out(document):
            yield "\n".join(document)


def best_heads(corpus: Any, length: int, limit: int) -> dict[str, Any]:
    """Each pattern's best head over sentence pairs of up to `length` tokens."""
    scope = hs.load()
    survey = hs.survey(
        scope,
        corpus,
        statistics=hs.pattern_measures(scope, NAMES),
        segments="pairs",
        max_tokens=length,
        limit=limit,
        progress=False,
    )
    table: Any = hs.pattern_table(survey)
    rows: dict[str, Any] = {}
    for name in NAMES:
        of_pattern = table[table["pattern"] == name]
        best = of_pattern.loc[of_pattern["score"].idxmax()]
        rows[name] = {column: best[column].item() for column in COLUMNS}
        # of all heads, which exceeds what its own weights would score dealt out at random by most
        excess = of_pattern["score"] - of_pattern["null"]
        most = of_pattern.loc[excess.idxmax()]
        rows[name]["most_beyond_null"] = {c: most[c].item() for c in COLUMNS}
    return {
        "length": length,
        "pairs": survey.metadata["segments"],
        "tokens": survey.metadata["tokens"],
        "best": rows,
    }


def named(text: str) -> tuple[str, Path]:
    name, _, path = text.partition("=")
    return name, Path(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="+", type=named, help="name=path")
    parser.add_argument("--lengths", nargs="+", type=int, default=[64, 128])
    parser.add_argument("--tokens", type=int, default=1 << 14, help="per corpus and length")
    parser.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for name, path in options.corpora:
        for length in options.lengths:
            corpus = list(held_out(path)) if path.name.endswith(".txt.xz") else path
            row = best_heads(corpus, length, options.tokens // length)
            found.setdefault(name, {})[str(length)] = row
            said = " · ".join(
                f"{p} {r['score']:.2f} ({r['layer']}-{r['head']})" for p, r in row["best"].items()
            )
            print(f"{name} {length} ({row['pairs']} pairs): {said}", flush=True)
    options.out.write_text(json.dumps(rounded(found), indent=1) + "\n", encoding="utf-8")
    print(f"-> {options.out}")


if __name__ == "__main__":
    main()
