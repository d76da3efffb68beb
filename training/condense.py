"""What documentation needs of a run, in two small files: `final.json` and `checkpoints.json`.

    python -m training.condense first-run:6400 second-run -o training/results

Several run folders are stretches of one training, each begun from the weights of the one before
(`training.train --from`); `:6400` says at which step a stretch was left. Steps and tokens are
counted on from stretch to stretch. The scores of single heads stay behind, except for those of
the heads that end as the best ones.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

KEEP = ("layer", "head", "score", "uniform", "mean_of_heads")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    return [rounded(part) for part in value] if isinstance(value, list) else value


def final(run: Path) -> dict[str, Any]:
    """The results of the last stretch without the scores of all heads."""
    found = json.loads((run / "results.json").read_text(encoding="utf-8"))
    found["patterns"] = {
        length: {name: part for name, part in rows.items() if name != "heads"}
        for length, rows in found["patterns"].items()
    }
    return rounded(found)


def checkpoints(stretches: list[tuple[Path, int | None]], ending: dict[str, Any]) -> dict[str, Any]:
    """Every kept checkpoint of all stretches; `ending` names each pattern's best head at last."""
    rows: list[dict[str, Any]] = []
    summary: list[dict[str, Any]] = []
    survey: dict[str, int] = {}
    step = tokens = 0
    for number, (run, last) in enumerate(stretches, 1):
        kept = {row["step"]: row for row in lines(run / "surveys.jsonl")}  # the later row counts
        kept = {at: row for at, row in kept.items() if last is None or at <= last}
        for at, row in sorted(kept.items()):
            if number > 1 and at == 0:
                continue  # the weights the stretch before it ended with
            rows.append(
                {
                    "stretch": number,
                    "step": step + at,
                    "tokens": tokens + row["tokens"],
                    "held_out": row["held_out"],
                    "best": {
                        name: {part: best[part] for part in KEEP}
                        for name, best in row["best"].items()
                    },
                    "ending": {
                        name: row["heads"][name][best["layer"]][best["head"]]
                        for name, best in ending.items()
                    },
                    "best_on_masked_inputs": row["best_on_masked_inputs"],
                }
            )
        end = max(kept.values(), key=lambda row: row["step"])
        log = [row for row in lines(run / "log.jsonl") if row["step"] <= end["step"]]
        top = max(row["lr"] for row in log)
        held = max(
            row["step"] for row in log if row["lr"] == top
        )  # the rate's last step at the top
        speeds = sorted(row["tokens_a_second"] for row in log)
        summary.append(
            {
                "steps": end["step"],
                "tokens": end["tokens"],
                "seconds": log[-1]["seconds"],
                "tokens_a_second": speeds[len(speeds) // 2],
                "decay_from": held if held < log[-1]["step"] else None,
            }
        )
        step, tokens = step + end["step"], tokens + end["tokens"]
        survey = {"length": end["length"], "inputs": end["inputs"]}
    return rounded({"survey": survey, "stretches": summary, "checkpoints": rows})


def stretch(text: str) -> tuple[Path, int | None]:
    run, _, last = text.partition(":")
    return Path(run), int(last) if last else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stretches", nargs="+", type=stretch)
    parser.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    last = final(options.stretches[-1][0])
    best = last["patterns"][min(last["patterns"], key=int)]["best"]
    whole = checkpoints(options.stretches, best)
    for name, found in (("final", last), ("checkpoints", whole)):
        path = options.out / f"{name}.json"
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(f"{path}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
