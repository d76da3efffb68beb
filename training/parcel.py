"""Take a run's results along in few small files, and join them again.

python -m training.parcel pack run folder      # logs, surveys, results, newest weights in parts
python -m training.parcel join folder model.safetensors
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

PART = 15 << 20
SMALL = ("train.log", "log.jsonl", "surveys.jsonl", "results.json")


def newest(run: Path) -> Path | None:
    final = run / "model.safetensors"
    if final.exists():
        return final
    return max((run / "checkpoints").glob("step-*.safetensors"), default=None)


def pack(run: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name in SMALL:
        if (run / name).exists():
            shutil.copy(run / name, out / name)
    if weights := newest(run):
        data = weights.read_bytes()
        for number, start in enumerate(range(0, len(data), PART)):
            (out / f"{weights.stem}.part{number}").write_bytes(data[start : start + PART])


def join(folder: Path, out: Path) -> None:
    parts = sorted(folder.glob("*.part*"), key=lambda path: int(path.suffix.removeprefix(".part")))
    if not parts:
        raise SystemExit(f"No parts in {folder}.")
    out.write_bytes(b"".join(part.read_bytes() for part in parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("pack", "join"))
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    options = parser.parse_args()
    (pack if options.verb == "pack" else join)(options.source, options.target)


if __name__ == "__main__":
    main()
