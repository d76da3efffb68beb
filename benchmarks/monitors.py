"""How well monitors separate both kinds of ready-made examples, and what shuffled labels give.

    python benchmarks/monitors.py [MODEL] [-o FILE.json] [--documents 24] [--shuffles 12]

The documents name two invented people each. Each of the shuffles swaps the labels of random pairs,
fits anew, and takes a null of its own: about one in twenty may exceed it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import headscope as hs
from benchmarks._models import smollm2
from headscope.grounding.facts import facts
from headscope.grounding.monitors import fit as fitting
from headscope.grounding.monitors.labelled import Labelled, groups_of
from headscope.grounding.monitors.shares import shares_of

BUILDERS = {"context kept": hs.monitor.context_kept, "injected": hs.monitor.injected}
HEADS, NULL = 8, 200  # as hs.monitor.fit takes by default


def documents(count: int) -> list[str]:
    """Two invented people each, a sentence a person."""
    sentences = [text for one in facts(count, seed=7) for text in one.documents[:2]]
    return [f"{one} {two}" for one, two in zip(sentences[::2], sentences[1::2], strict=True)]


def measured(scope: hs.Scope, examples: Sequence[Labelled], shuffles: int) -> dict[str, Any]:
    """The AUROC with its interval and null, and the same of each shuffle."""
    looks = fitting._looks(list(examples))
    labels = np.array([one.label for one in examples])
    groups = np.array(list(groups_of(examples)))
    read = [shares_of(scope, looks, one.messages, one.documents, one.answer) for one in examples]
    layers, shares = read[0][0], np.stack([values for _, values in read])

    def fitted(labels: np.ndarray, seed: int) -> dict[str, float]:
        found = fitting._monitor(scope, looks, layers, shares, labels, groups, HEADS, NULL, seed)
        return {
            name: round(getattr(found, name), 4) for name in ("auroc", "low", "high", "null", "p")
        }

    chance = np.random.default_rng(1)
    swaps = [chance.random(len(labels)) < 0.5 for _ in range(shuffles)]
    return {
        "examples": len(examples),
        **fitted(labels, 0),
        "shuffled": [fitted(labels ^ swap[groups], n) for n, swap in enumerate(swaps)],
    }


def table(found: dict[str, Any]) -> str:
    """Markdown."""
    lines = [
        "| examples | AUROC | null, 95 % | p | shuffled labels: mean AUROC, above their null |",
        "|---|---|---|---|---|",
    ]
    for name, one in found.items():
        others = one["shuffled"]
        above = sum(other["auroc"] > other["null"] for other in others)
        mean = np.mean([other["auroc"] for other in others])
        lines.append(
            f"| {name}, {one['examples']} | {one['auroc']:.2f} [{one['low']:.2f}, "
            f"{one['high']:.2f}] | {one['null']:.2f} | {one['p']:.3f} | {mean:.2f}, {above} of "
            f"{len(others)} |"
        )
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model", nargs="?", help="SmolLM2-135M-Instruct if left out")
    options.add_argument("-o", "--output", type=Path, default=Path("build/monitors.json"))
    options.add_argument("--documents", type=int, default=24)
    options.add_argument("--shuffles", type=int, default=12)
    given = options.parse_args()
    scope = hs.load(given.model or smollm2())
    texts = documents(given.documents)
    found = {name: measured(scope, make(texts), given.shuffles) for name, make in BUILDERS.items()}
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    print(table(found))


if __name__ == "__main__":
    main()
