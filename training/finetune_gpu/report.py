"""Turn the results of `training.finetune_gpu.run` into tables and figures.

    PYTHONPATH=src:. python -m training.finetune_gpu.report RESULTS [RESULTS …] -o FOLDER

RESULTS are folders (or folders of folders, one per seed). Writes tables.md and one map per task
of what disabling each head does and of how far fine-tuning moved it, averaged over seeds.
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np

from headscope.edits.ablate import Ablation, judged, single_edits
from headscope.edits.exam import Exam, class_losses, class_scores
from headscope.edits.importance import Importance
from headscope.edits.metrics import METRICS, ranks
from headscope.figures import layer_head_map, save


class Results:
    """The runs of all folders together."""

    def __init__(self, folders: list[Path]) -> None:
        places = [
            file.parent for folder in folders for file in sorted(folder.rglob("results.json"))
        ]
        if not places:
            raise SystemExit(f"There is no results.json under {folders[0]}.")
        self.tasks: dict[str, Any] = {}
        self.runs: list[dict[str, Any]] = []
        self.arrays: dict[str, np.ndarray] = {}
        for place in places:
            found = json.loads((place / "results.json").read_text())
            self.tasks |= found["tasks"]
            self.runs += found["runs"]
            for name in ("answers.npz", "change.npz"):
                if (place / name).exists():
                    with np.load(place / name) as stored:
                        self.arrays |= {key: stored[key] for key in stored.files}

    def seeds(self, task: str) -> list[int]:
        return sorted(run["seed"] for run in self.runs if run["task"] == task)

    def stacked(self, task: str, what: str) -> np.ndarray:
        """seeds …: one array of every seed that has it."""
        keys = [f"{task}/{seed}/{what}" for seed in self.seeds(task)]
        return np.stack([self.arrays[key].astype(float) for key in keys if key in self.arrays])

    def scores(self, task: str, when: str) -> list[float]:
        metric = self.tasks[task]["metric"]
        return [100 * run[when][metric] for run in self.runs if run["task"] == task and when in run]

    def ablation(self, task: str, seed: int) -> Ablation:
        labels = self.arrays[f"{task}/labels"]
        baseline = self.arrays[f"{task}/{seed}/baseline"].astype(float)
        edited = self.arrays[f"{task}/{seed}/edited"].astype(float)
        layers, heads = self.arrays[f"{task}/{seed}/cosine"].shape
        metric = METRICS[self.tasks[task]["metric"]]
        asked = Exam(task, (), class_scores, class_losses, labels, metric)
        return judged(
            task, asked, single_edits(layers, heads, ("heads", "layers")), baseline, edited,
            mode="uniform", kind="encoder", layers=layers, heads=heads, shared=True,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    found = Results(options.results)
    lines = [*score_table(found), "", *ablation_table(found, options.out), ""]
    lines += change_table(found, options.out)
    (options.out / "tables.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def score_table(found: Results) -> list[str]:
    """Table 1 of the paper, with baselines."""
    lines = [
        "| task | metric | majority | bag of words "
        "| before | from random weights | fine-tuned | rate ×6 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for task, about in found.tasks.items():
        cells = [
            _spread(found.scores(task, when))
            for when in ("before", "from_scratch", "after", "faster")
        ]
        floor = [f"{100 * about['floor'][name]:.1f}" for name in ("majority", "bag_of_words")]
        lines.append(f"| {task} | {about['metric']} | " + " | ".join([*floor, *cells]) + " |")
    return lines


def ablation_table(found: Results, out: Path) -> list[str]:
    """Best and worst heads of every seed, what survives, and whether seeds agree."""
    lines = [
        "| task | seed | best head | other half "
        "| worst head | other half | sure heads | sure layers |",
        "|---|---|---|---|---|---|---|---|",
    ]
    agreement: list[str] = []
    for task in found.tasks:
        ablations = [found.ablation(task, seed) for seed in found.seeds(task)]
        maps = [one.head_map for one in ablations]
        lines += [
            _ablation_row(task, seed, one)
            for seed, one in zip(found.seeds(task), ablations, strict=True)
        ]
        mean = 100 * np.mean(maps, axis=0)
        title = f"{task}: one head disabled, mean of {len(maps)} seeds"
        save(layer_head_map(mean, title, "points", diverging=True), out / f"disabled-{task}.svg")
        pairs = [_rank_correlation(a, b) for a, b in itertools.combinations(maps, 2)]
        with_gates = [
            agreement(Importance("encoder", size, size), one)
            for size, one in zip(found.stacked(task, "importance"), ablations, strict=True)
        ]
        between = f"{np.mean(pairs):.2f}" if pairs else "one seed only"
        agreement.append(f"| {task} | {between} | {np.mean(with_gates):.2f} |")
    return [
        *lines, "",
        "| task | rank correlation of head maps between seeds | of importance with the drop |",
        "|---|---|---|", *agreement,
    ]  # fmt: skip


def change_table(found: Results, out: Path) -> list[str]:
    """The mean cosine of every layer before and after."""
    lines: list[str] = []
    for task in found.tasks:
        cosine = found.stacked(task, "cosine").mean(axis=0)
        if not lines:
            numbers = range(len(cosine))
            lines = ["| task | " + " | ".join(f"layer {n}" for n in numbers) + " |",
                     "|---" * (len(cosine) + 1) + "|"]  # fmt: skip
        lines.append(
            f"| {task} | " + " | ".join(f"{value:.3f}" for value in cosine.mean(axis=1)) + " |"
        )
        drawn = layer_head_map(cosine, f"{task}: before and after", "cosine", limits=(0.0, 1.0))
        save(drawn, out / f"change-{task}.svg")
    return lines


def _ablation_row(task: str, seed: int, one: Ablation) -> str:
    heads, halves = one.head_map, one.halves["heads"]
    best, worst = (
        np.unravel_index(heads.argmax(), heads.shape),
        np.unravel_index(heads.argmin(), heads.shape),
    )
    alone = np.array([len(edit.heads) == 1 for edit in one.edits])
    sure = one.differences.p_holm < 0.05
    return (
        f"| {task} | {seed} | {best[0]}-{best[1]} {100 * heads.max():+.2f} | "
        f"{100 * halves.reported_best:+.2f} | {worst[0]}-{worst[1]} {100 * heads.min():+.2f} | "
        f"{100 * halves.reported_worst:+.2f} | {int(sure[alone].sum())} "
        f"| {int(sure[~alone].sum())} |"
    )


def _rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    one, two = ranks(a.ravel()), ranks(b.ravel())
    if one.std() == 0 or two.std() == 0:
        return 0.0
    return float(np.corrcoef(one, two)[0, 1])


def _spread(values: list[float]) -> str:
    if not values:
        return "–"
    if len(values) == 1:
        return f"{values[0]:.1f}"
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"


if __name__ == "__main__":
    main()
