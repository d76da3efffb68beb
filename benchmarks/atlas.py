"""An atlas against a survey of the same corpus, its memory, and search in it.

    python -m benchmarks.atlas [--rounds 1] [--documents 128] [--strict] [--skip-memory]
    python -m benchmarks.atlas --device cuda --documents 2048 --skip-memory

BERT-base shape with random weights, pairs of sentences of 128 tokens (as benchmarks/survey.py).
The atlas (`hs.atlas` as it stands: standard statistics, patterns, distances over an eighth of the
queries, groups, examples, profiles) is timed in turn with two surveys of the same texts in one
process. "A survey of the same corpus" can be read in two ways, so both ratios are printed:

- strict: the standard survey, `hs.survey(scope, corpus)`, which measures no patterns and compares
  no heads;
- like for like: the survey of all that the atlas measures (patterns, and distances over all
  queries, as `hs.survey` has them).

What an atlas costs once at its end, whatever the corpus (its tables, groups, the parsing of drawn
texts, what heads write), is printed apart, and so are the ratios of the passes without it. On the
CPU the processor time of one thread counts, on a GPU the time on the clock, in bfloat16. `--strict`
leaves out the second survey, which is the dearest. Before it the peak memory of whole atlases of
three layers over 100, 500 and 2,000 documents, each in a process of its own; after it `find` over a
million tokens of kept examples.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics as stats
import subprocess
import sys
import time

import numpy as np

from benchmarks.survey import bert_base, texts

AT_THE_END = "at the end of the atlas"
SAME = "survey of the same measures"
SIZES = (100, 500, 2_000)  # documents whose peak memory is compared; a portion has 64


def speed(rounds: int, device: str, documents: int, strict: bool) -> dict[str, float]:
    import torch

    import headscope as hs
    from headscope.atlas import make
    from headscope.patterns.as_statistics import pattern_measures, with_patterns
    from headscope.statistics.discovery import choose, measurable

    scope = bert_base()
    torch.set_num_threads(1 if device == "cpu" else torch.get_num_threads())
    scope.model.to(device, torch.bfloat16 if device == "cuda" else torch.float32)
    corpus = texts(documents)
    standard = [*measurable(scope, None)[0], *choose("focus")]
    same = with_patterns(standard, pattern_measures(scope))
    works = {
        "atlas": lambda some: hs.atlas(scope, some, progress=False),
        SAME: lambda some: hs.survey(scope, some, same, distances=True, progress=False),
        "standard survey": lambda some: hs.survey(scope, some, progress=False),
    }
    if strict:
        del works[SAME]
    # on the CPU the time of this process alone, whatever else the machine does
    clock = time.perf_counter if device == "cuda" else time.process_time
    times: dict[str, list[float]] = {name: [] for name in (*works, AT_THE_END)}
    written = make.atlas_of

    def timed(*given, **named):
        started = clock()
        made = written(*given, **named)
        times[AT_THE_END].append(clock() - started)
        return made

    make.atlas_of = timed
    few = corpus[: 8 if device == "cpu" else 256]  # to warm up
    for turn in range(rounds + 1):
        for name, work in works.items():
            started = clock()
            work(corpus if turn else few)
            times[name].append(clock() - started)
            print(f"{name}: {times[name][-1]:.2f} s", file=sys.stderr, flush=True)
    make.atlas_of = written
    times = {name: taken[1:] for name, taken in times.items()}
    return {name: stats.median(taken) for name, taken in times.items()}


def ratios(found: dict[str, float]) -> dict[str, float]:
    """The atlas over each survey, whole and without what is done once at its end."""
    passes = found["atlas"] - found[AT_THE_END]
    surveys = {
        "strict (standard survey)": found["standard survey"],
        "like for like (survey of the same measures)": found.get(SAME),
    }
    return {
        f"{what} / {name}": round(of / taken, 2)
        for name, taken in surveys.items()
        if taken is not None
        for what, of in (("atlas", found["atlas"]), ("its pass", passes))
    }


def memory(documents: int) -> float:
    code = (
        "import resource; from benchmarks.survey import bert_base, texts; import headscope as hs; "
        f"hs.atlas(bert_base(3), texts({documents}), distances=False, progress=False); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def search(rounds: int) -> dict[str, float]:
    """Over made-up examples: 125,000 with eight keys each, one million kept tokens."""
    import pandas as pd

    from headscope.atlas.atlas import Atlas

    chance = np.random.default_rng(0)
    count, documents, length = 125_000, 2_000, 128
    words = [f"w{n}" for n in range(2_000)]
    tokens = [list(chance.choice(words, length)) for _ in range(documents)]
    of = chance.integers(0, documents, count)
    examples = pd.DataFrame(
        {
            "kind": "encoder", "layer": chance.integers(0, 12, count),
            "head": chance.integers(0, 12, count), "measure": "confidence", "decile": -1,
            "rank": 0, "value": 0.5, "document": of, "query": chance.integers(0, length, count),
            "keys": list(chance.integers(0, length, (count, 8)).astype(np.int32)),
            "weights": list(chance.random((count, 8)).astype(np.float32)),
        }
    )  # fmt: skip
    texts_of = pd.DataFrame(
        {
            "kind": "encoder", "document": np.arange(documents), "tokens": tokens,
            "segments": [np.zeros(length, np.int8)] * documents,
            "classes": [np.full(length, 4, np.int8)] * documents,
            "continues": [np.zeros(length, bool)] * documents,
        }
    )  # fmt: skip
    heads = pd.DataFrame({"kind": ["encoder"], "layer": [0], "head": [0], "measure": ["entropy"]})
    atlas = Atlas({"text": True}, {"heads": heads, "examples": examples, "documents": texts_of})
    atlas.find(1, query="w7")  # the first lays the words out
    found = {}
    for name, asked in {
        "word": {"query": "w7", "key": "w8"},
        "expression": {"query": "/^w1/", "weight": 0.9},
        "same word": {"same_word": True},
    }.items():
        taken = []
        for _ in range(rounds):
            started = time.perf_counter()
            atlas.find(50, **asked)
            taken.append(time.perf_counter() - started)
        found[name] = stats.median(taken)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--documents", type=int, default=128)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--skip-memory", action="store_true")
    chosen = parser.parse_args()
    result: dict[str, object] = {}
    # first: a process is charged with the size of the one that starts it
    if not chosen.skip_memory:
        peaks = {n: memory(n) for n in SIZES}
        result |= {f"peak of {n} documents, MB": round(peak) for n, peak in peaks.items()}
        result["peak of four times the documents / peak"] = round(peaks[2_000] / peaks[500], 2)
    found = speed(chosen.rounds, chosen.device, chosen.documents, chosen.strict)
    result |= {f"{name}, s": round(value, 2) for name, value in found.items()}
    result |= ratios(found)
    result |= {f"find, {k}, ms": round(v * 1000, 1) for k, v in search(5).items()}
    result["largest process, MB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
