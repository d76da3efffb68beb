"""A survey of one large text file of long documents: flat memory, all of it read, resumable.

    python benchmarks/long_corpus.py [--megabytes 200] [--workers 2] [--out FILE]

Documents of 1,000 to 30,000 words are written to one file and surveyed window by window with a tiny
random BERT, so that minutes suffice. The survey runs whole; then again, ended (SIGKILL) at a third
of the file and gone on with; both tables must be the same to the last bit, and the counts must be
those of the file as it was written. The peak memory of a tenth of the file stands beside that of
all of it. Each run is a process of its own, `--workers` of them beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd

from headscope.models.open import BUNDLED

RUN = '''
import json, os, pathlib, resource, sys, time
import torch
from transformers import AutoTokenizer, BertConfig, BertModel
import headscope as hs
from headscope.models.open import BUNDLED


def peaks_of_others():
    """Kilobytes that each other process of this session has held at most."""
    yield 0
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            number = int(status.parent.name)
            if number != os.getpid() and os.getsid(number) == os.getsid(0):
                told = dict(line.split(":", 1) for line in status.read_text().splitlines())
                yield int(told.get("VmHWM", told["VmRSS"]).split()[0])
        except (OSError, KeyError, ValueError):
            pass  # it has just ended


def main():
    torch.set_num_threads(1)
    file, output, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED)
    shape = BertConfig(vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1,
                       num_attention_heads=1, intermediate_size=16, max_position_embeddings=512)
    scope = hs.Scope(BertModel(shape).eval(), tokenizer, "a tiny BERT")
    told, largest = [0.0], [0]
    def show(progress):
        if time.monotonic() > told[0]:
            told[0] = time.monotonic() + 1
            largest[0] = max(largest[0], *peaks_of_others())
            print(progress.segments, flush=True)
    start = time.monotonic()
    survey = hs.survey(scope, file, ["entropy", "previous_word"], output=output, max_tokens=512,
                       workers=workers if workers > 1 else None, progress=show)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    about = {name: survey.metadata[name] for name in
             ("documents", "segments", "tokens", "characters", "truncated", "unread characters")}
    print(json.dumps({**about, "seconds": time.monotonic() - start, "peak, MB": peak,
                      "largest worker, MB": largest[0] / 1024}), flush=True)


if __name__ == "__main__":
    main()
'''


def write(path: Path, size: int) -> dict[str, int]:
    """Documents as lines; what was written."""
    chance = np.random.default_rng(0)
    vocabulary = (BUNDLED / "vocab.txt").read_text().split()
    words = np.array([word for word in vocabulary if word.isalpha() and len(word) > 7])
    documents = characters = 0
    with path.open("w") as file:
        while file.tell() < size:
            drawn = chance.choice(words, int(chance.integers(1_000, 30_000)))
            text = " ".join(drawn.tolist())
            file.write(text + "\n")
            documents, characters = documents + 1, characters + len(text)
    return {"documents": documents, "characters": characters}


def started(script: Path, file: Path, output: Path, workers: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(script), str(file), str(output), str(workers)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


def finished(process: subprocess.Popen[str]) -> dict[str, Any]:
    said = process.communicate()[0].strip().splitlines()
    assert process.returncode == 0, said[-5:]
    return json.loads(said[-1])


def killed_at(process: subprocess.Popen[str], segments: int) -> int:
    """End the process and those beside it once it has measured so many segments."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip().isdigit() and int(line) >= segments:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return int(line)
    raise AssertionError("the survey ended before it was killed")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--megabytes", type=float, default=200)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--out", type=Path)
    asked = options.parse_args()
    found: dict[str, Any] = {"megabytes": asked.megabytes, "workers": asked.workers}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        script, file, tenth = folder / "run.py", folder / "long.txt", folder / "tenth.txt"
        script.write_text(RUN)
        written = write(file, int(asked.megabytes * 1e6))
        write(tenth, int(asked.megabytes * 1e5))
        small = finished(started(script, tenth, folder / "tenth.parquet", asked.workers))
        whole = finished(started(script, file, folder / "whole.parquet", asked.workers))
        # where a window ends and the next begins, the space between them is of neither
        between = whole["segments"] - whole["documents"]
        assert whole["documents"] == written["documents"]
        assert whole["characters"] == written["characters"] - between
        assert whole["truncated"] == 0 and whole["unread characters"] == 0
        found |= {"written": written, "whole": whole, "a tenth": small}
        kept(found, asked.out)
        output = folder / "again.parquet"
        at = killed_at(started(script, file, output, asked.workers), whole["segments"] // 3)
        begun = time.monotonic()
        again = finished(started(script, file, output, asked.workers))
        one, other = (pd.read_parquet(folder / f"{n}.parquet") for n in ("whole", "again"))
        pd.testing.assert_frame_equal(one, other, check_exact=True)
        assert again["segments"] == whole["segments"] and again["documents"] == whole["documents"]
        found |= {
            "killed at segment": at,
            "the rest took, s": time.monotonic() - begun,
            "same table to the last bit": True,
            "memory of all of a tenth": whole["peak, MB"] / small["peak, MB"],
        }
    kept(found, asked.out)


def kept(found: dict[str, Any], path: Path | None) -> None:
    print(json.dumps(found, indent=1), flush=True)
    if path is not None:
        path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
