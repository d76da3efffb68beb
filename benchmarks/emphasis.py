"""Does emphasis by chosen heads raise answers more than by random heads, on other texts?

    python benchmarks/emphasis.py [MODEL] [-o FILE.parquet]

Each text states something false and asks for it; the answer wanted is the one that the text states,
against what the model learned. Every second text chooses heads, the others test them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import headscope as hs
from benchmarks._models import smollm2

STATED = {
    "capital of Italy": "Berlin", "capital of France": "Madrid", "capital of Japan": "Oslo",
    "capital of Spain": "London", "capital of Greece": "Tokyo", "capital of Egypt": "Rome",
    "capital of Norway": "Athens", "capital of Russia": "Paris", "colour of the sky": "green",
    "colour of grass": "red", "colour of blood": "blue", "colour of snow": "black",
    "colour of coal": "white", "colour of gold": "purple", "colour of a ripe tomato": "brown",
    "colour of the sea": "orange",
}  # fmt: skip


def examples() -> list[hs.emphasis.Example]:
    """(text, span, answer) for each."""
    return [
        hs.emphasis.Example(
            f"In this story the {of} is {said}. Question: what is the {of}? Answer:",
            f"is {said}", said,
        )
        for of, said in STATED.items()
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", help="SmolLM2-135M-Instruct if left out")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--factor", type=float, default=4.0)
    parser.add_argument("--heads", type=int, default=8)
    given = parser.parse_args()
    model = given.model or smollm2()
    scope = hs.load(model, name=Path(model).stem)
    found = hs.emphasis.choose(
        scope, examples(), factor=given.factor, n=given.heads, output=given.output,
        progress=lambda at: print(at.title, at.done, at.total, flush=True),
    )  # fmt: skip
    rows: Any = found.held_out
    print("chosen:", " ".join(f"{layer}-{head}" for layer, head in found.chosen))
    print("| heads | gain in nats (95 % interval) |\n|---|---|")
    for name in ("chosen", "all"):
        one = rows[rows["heads"] == name].iloc[0]
        print(f"| {name} | {one['gain']:+.3f} ({one['low']:+.3f} to {one['high']:+.3f}) |")
    drawn = rows[rows["heads"] == "random"]["gain"]
    print(f"| random, {len(drawn)} draws | mean {drawn.mean():+.3f}, most {drawn.max():+.3f} |")
    print(found.verdict)


if __name__ == "__main__":
    main()
