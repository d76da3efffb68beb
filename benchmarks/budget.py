"""What a head budget costs on text that did not choose it, beside random heads.

    python benchmarks/budget.py [MODEL] [CORPUS] [-o FILE.parquet] [--tokens 128] [--texts 16]

Half of the texts choose heads; the table is of the other half: the rise of the loss with its
interval over texts, and the share of needles kept. A stopped run resumes; a finished file is only
read again.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import headscope as hs
from benchmarks._models import smollm2


def table(found: hs.results.Budget) -> str:
    """Markdown: the curve on choosing texts, then the recommended set on the others."""
    rows: Any = found.curve
    lines = [
        "| heads restricted | texts | loss rises by (nats) | needles kept | cache at 32k tokens |",
        "|---|---|---|---|---|",
    ]

    def line(name: str, texts: str, row: Any) -> str:
        spread = f"{row['rise']:+.3f} ({row['low']:+.3f} to {row['high']:+.3f})"
        return f"| {name} | {texts} | {spread} | {row['kept']:.0%} | {1 - row['saved_32k']:.0%} |"

    texts = rows["texts"]
    for _, row in rows[(texts == "chosen") & (rows["heads"] > 0)].iterrows():
        lines.append(line(f"{row['heads']} cheapest", "choosing", row))
    held = rows[texts == "held out"]
    for name, said in (("exact", "recommended"), ("gate", "by the gate's estimate")):
        for _, row in held[held["order"] == name].iterrows():
            lines.append(line(f"{row['heads']} {said}", "held out", row))
    drawn = held[held["order"] == "random"]
    if len(drawn):
        low, high = drawn["rise"].quantile([0.025, 0.975])
        lines.append(
            f"| {drawn['heads'].iloc[0]} random, {len(drawn)} draws | held out | mean "
            f"{drawn['rise'].mean():+.3f}, 95 % of draws {low:+.3f} to {high:+.3f}, least "
            f"{drawn['rise'].min():+.3f} | mean {drawn['kept'].mean():.0%}, most "
            f"{drawn['kept'].max():.0%} | |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", help="SmolLM2-135M-Instruct if left out")
    parser.add_argument("corpus", nargs="?", default="sample")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/budget.parquet"))
    parser.add_argument("--window", type=int, default=28)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--texts", type=int, default=16)
    parser.add_argument("--needles", type=int, default=24)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--tolerance", type=float, default=0.05)
    given = parser.parse_args()
    given.output.parent.mkdir(parents=True, exist_ok=True)
    if given.output.is_file():
        found = hs.open(given.output)
    else:
        began, model = time.process_time(), given.model or smollm2()
        found = hs.budget(
            hs.load(model, name=Path(model).stem), given.corpus, sink=4,
            window=given.window, max_tokens=given.tokens, limit=given.texts,
            needles=given.needles, draws=given.draws, tolerance=given.tolerance,
            shares=(0.25, 0.5, 0.75), output=given.output,
            progress=lambda at: print(at.title, at.done, at.total, flush=True),
        )  # fmt: skip
        print(f"{time.process_time() - began:.0f} s of processor time in this process")
    print(f"{found.title}; tolerance {found.tolerance} nats, texts of {found.max_tokens} tokens")
    print(f"rank correlation of exact costs and the gate's estimates: {found.agreement:.2f}")
    print(table(found))


if __name__ == "__main__":
    main()
