"""Turn the results of `training.finetune_gpu.run` into tables and figures.

    PYTHONPATH=src:. python -m training.finetune_gpu.report RESULTS [RESULTS …] -o FOLDER

RESULTS are folders (or folders of folders, one per seed and learning rate). Writes tables.md, and
for every learning rate one figure of what disabling each head does to each task and one of how far
fine-tuning moved it, averaged over seeds.
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np

from headscope.edits.ablate import Ablation, agreement, judged, single_edits
from headscope.edits.importance import Importance
from headscope.figures import layer_head_maps, save
from headscope.tasks.metrics import METRICS, rank_correlation
from headscope.tasks.questions import Questions, class_losses, class_scores

SHOWN = 5.0  # points at the ends of the colours


class Results:
    """The runs of one learning rate together."""

    def __init__(self, places: list[Path]) -> None:
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

    @staticmethod
    def by_rate(folders: list[Path]) -> dict[float, Results]:
        places = [
            file.parent for folder in folders for file in sorted(folder.rglob("results.json"))
        ]
        if not places:
            raise SystemExit(f"There is no results.json under {folders[0]}.")
        of_rate: dict[float, list[Path]] = {}
        for place in places:
            recipe = json.loads((place / "results.json").read_text())["recipe"]
            of_rate.setdefault(recipe["learning_rate"], []).append(place)
        return {rate: Results(of_rate[rate]) for rate in sorted(of_rate)}

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
        asked = Questions(task, (), class_scores, class_losses, labels, metric)
        return judged(
            task, asked, single_edits(range(layers), heads, ("heads", "layers")), baseline, edited,
            mode="uniform", kind="encoder", layers=layers, heads=heads, shared=True,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    every = Results.by_rate(options.results)
    lines = [
        "# Fine-tuning, every table",
        "",
        "What each table means: [Five tasks, three seeds](index.md).",
        "",
    ]
    lines += score_table(every)
    for rate, found in every.items():
        lines += ["", f"## Learning rate {rate:g}", ""]
        lines += [*ablation_table(found, options.out, rate), "", *layer_table(found), ""]
        lines += change_table(found, options.out, rate)
    (options.out / "tables.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def score_table(every: dict[float, Results]) -> list[str]:
    """Table 1 of the paper, with baselines: of each rate from random weights, and fine-tuned."""
    heads = [f"{what} at {rate:g}" for rate in every for what in ("random weights", "fine-tuned")]
    lines = [
        "| task | metric | majority | bag of words | " + " | ".join(heads) + " |",
        "|---" * (4 + len(heads)) + "|",
    ]
    about = next(iter(every.values())).tasks
    for task, known in about.items():
        floor = [f"{100 * known['floor'][name]:.1f}" for name in ("majority", "bag_of_words")]
        cells = [
            _spread(found.scores(task, when))
            for found in every.values()
            for when in ("from_scratch", "after")
        ]
        lines.append(f"| {task} | {known['metric']} | " + " | ".join([*floor, *cells]) + " |")
    return lines


def ablation_table(found: Results, out: Path, rate: float) -> list[str]:
    """Best and worst heads of every seed, what survives, and whether seeds agree."""
    lines = [
        "| task | seed | best head | other half "
        "| worst head | other half | sure heads | sure layers |",
        "|---|---|---|---|---|---|---|---|",
    ]
    agreeing: list[str] = []
    drawn: dict[str, np.ndarray] = {}
    for task in found.tasks:
        ablations = [found.ablation(task, seed) for seed in found.seeds(task)]
        maps = [one.head_map for one in ablations]
        lines += [
            _ablation_row(task, seed, one)
            for seed, one in zip(found.seeds(task), ablations, strict=True)
        ]
        drawn[f"{task}, {len(maps)} seeds"] = 100 * np.mean(maps, axis=0)
        pairs = [_rank_correlation(a, b) for a, b in itertools.combinations(maps, 2)]
        with_gates = [
            agreement(Importance("encoder", size, size), one)
            for size, one in zip(found.stacked(task, "importance"), ablations, strict=True)
        ]
        between = f"{np.mean(pairs):.2f}" if pairs else "one seed only"
        agreeing.append(f"| {task} | {between} | {np.mean(with_gates):.2f} |")
    # one head of one task would leave the rest of the figure pale
    shown = layer_head_maps(drawn, f"points (darkest: {SHOWN:g} or more)", True,
                            limits=(-SHOWN, SHOWN))  # fmt: skip
    save(shown, out / f"disabled-{rate:g}.svg")
    return [
        *lines, "",
        "| task | rank correlation of head maps between seeds | of importance with the drop |",
        "|---|---|---|", *agreeing,
    ]  # fmt: skip


def layer_table(found: Results) -> list[str]:
    """What disabling a whole layer does, and a head on average: the mean of all seeds."""
    lines: list[str] = []
    for task in found.tasks:
        ablations = [found.ablation(task, seed) for seed in found.seeds(task)]
        points = 100 * np.mean([one.layer_map for one in ablations], axis=0)
        of_layer = np.array([len(edit.heads) > 1 for edit in ablations[0].edits])
        sure = np.sum([one.differences.p_holm[of_layer] < 0.05 for one in ablations], axis=0)
        if not lines:
            numbers = " | ".join(f"layer {n}" for n in range(len(points)))
            lines = [f"| task | any one head | {numbers} |", "|---" * (len(points) + 2) + "|"]
        mean = 100 * np.mean([one.head_map for one in ablations])
        cells = [
            f"**{value:+.1f}**" if 2 * count > len(ablations) else f"{value:+.1f}"
            for value, count in zip(points, sure, strict=True)
        ]
        lines.append(f"| {task} | {mean:+.2f} | " + " | ".join(cells) + " |")
    return [*lines, "", "Bold: sure (corrected p < .05) in most seeds."]


def change_table(found: Results, out: Path, rate: float) -> list[str]:
    """The mean cosine of every layer before and after."""
    lines: list[str] = []
    drawn: dict[str, np.ndarray] = {}
    for task in found.tasks:
        cosine = found.stacked(task, "cosine").mean(axis=0)
        if not lines:
            numbers = range(len(cosine))
            lines = ["| task | " + " | ".join(f"layer {n}" for n in numbers) + " |",
                     "|---" * (len(cosine) + 1) + "|"]  # fmt: skip
        lines.append(
            f"| {task} | " + " | ".join(f"{value:.3f}" for value in cosine.mean(axis=1)) + " |"
        )
        drawn[task] = cosine
    save(layer_head_maps(drawn, "cosine", limits=(0.5, 1.0)), out / f"change-{rate:g}.svg")
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
    return float(np.nan_to_num(rank_correlation(a.ravel(), b.ravel())))


def _spread(values: list[float]) -> str:
    if not values:
        return "–"
    if len(values) == 1:
        return f"{values[0]:.1f}"
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"


if __name__ == "__main__":
    main()
