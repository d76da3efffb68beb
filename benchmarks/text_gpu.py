"""From text to table on a GPU, against the forward passes alone.

    PYTHONPATH=src python benchmarks/text_gpu.py [--corpus FILE] [--megabytes 200] [--out FILE]

BERT-base shape, random weights, bfloat16. Three corpora: pairs of sentences of 128 and 512 tokens
in a list, and a text file read in windows of 128 tokens (`--corpus`, repeated until it has so many
megabytes; without, made-up sentences). Of each: the forward passes alone over the same batches,
which lie ready on the device; then `hs.survey` from the list or file to the table, all it does
included (checking the model, starting the processes that prepare text, reading, tokenising,
measuring, adding up). "Once running" begins with the first sums of text that the processes beside
the GPU prepared. Each corpus is surveyed twice: as the first survey on a machine, which
compiles the GPU kernel, and as later ones, which find it on the disk.
`--device cpu --small` tries the script out in half a minute, with little text.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
from transformers import AutoTokenizer, BertConfig, BertModel

import headscope as hs
from headscope.corpus.text import sharding
from headscope.corpus.text.batches import Encoder, TextBatch
from headscope.models.open import BUNDLED
from headscope.statistics.discovery import measurable
from headscope.surveys.corpus import ON_GPU, Corpus, Prepared, Taken
from headscope.surveys.feeds import helpers
from headscope.surveys.loop import Measurer
from headscope.surveys.options import Options
from headscope.surveys.reducers import Statistics

SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
FORWARDS = 24  # batches whose forward passes are timed, three times over


def bert(device: str, small: bool) -> hs.Scope:
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED)
    shape = BertConfig(
        vocab_size=len(tokenizer), attn_implementation="sdpa", **(SMALL if small else {})
    )
    model = BertModel(shape, add_pooling_layer=False).eval()
    model.to(device, torch.float32 if device == "cpu" else torch.bfloat16)
    return hs.Scope(model, tokenizer, "BERT-base")


def made_up(tokenizer: Any, count: int, n: int) -> list[tuple[str, str]]:
    """Pairs of sentences of random words, each pair longer than n tokens, so that all are cut."""
    words = np.array([word for word in tokenizer.get_vocab() if word.isalpha()])
    chance = np.random.default_rng(0)

    def sentence() -> str:
        drawn = chance.choice(words, n // 2)
        return ", ".join(" ".join(drawn[i : i + 9]) for i in range(0, len(drawn), 9)) + "."

    return [(sentence(), sentence()) for _ in range(count)]


def settled() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def forwards(scope: hs.Scope, prepared: list[TextBatch]) -> float:
    """Seconds a token takes in the forward passes alone; inputs lie on the device."""
    inputs = [one.on(scope.device) for one in prepared]
    found: list[float] = []
    with torch.no_grad():
        for _ in range(4):
            settled()
            start = time.perf_counter()
            for one in inputs:
                scope.model(**one)
            settled()
            found.append(time.perf_counter() - start)
    return float(np.median(found[1:])) / sum(one.amount.tokens for one in prepared)


def as_new(scope: hs.Scope) -> hs.Scope:
    """A scope whose model was never seen; Triton looks for its kernel on the disk again."""
    if torch.cuda.is_available():
        from headscope.statistics.kernels.survey_kernel import attend

        getattr(attend, "device_caches", {}).clear()
    return hs.Scope(copy.deepcopy(scope.model), scope.tokenizer, scope.name)


def waits(scope: hs.Scope, prepared: Prepared) -> list[str]:
    """Lines at which Python waits for the device while it measures a portion."""
    if not torch.cuda.is_available():
        return []
    measurer = Measurer(scope, [Statistics(measurable(scope, None)[0])], seed=0)
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            list(measurer.portions([prepared]))
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return sorted({f"{Path(one.filename).name}:{one.lineno}" for one in seen})


def some_portions(
    scope: hs.Scope, given: Any, options: dict[str, Any]
) -> tuple[list[Prepared], int]:
    """Portions as the survey makes them, and in how many shards the corpus is read."""
    chosen = Options(**options)
    encoder = Encoder.of(scope, chosen.tokens_of_a_batch(scope), chosen.longest(scope))
    corpus = Corpus.of(given, chosen, encoder, ON_GPU, None)
    found: list[Prepared] = []
    for shard in corpus.shards:
        found += map(corpus.cutter.prepared, corpus.cutter.portions(shard, Taken()))
        if sum(len(one.batches) for one in found) >= FORWARDS:
            break
    return found, len(corpus.shards)


def measure(scope: hs.Scope, corpus: Any, **options: Any) -> dict[str, Any]:
    portions, shards = some_portions(scope, corpus, options)
    prepared = [batch for one in portions for batch in one.batches][:FORWARDS]
    alone = forwards(scope, prepared)
    sizes = [batch.inputs["input_ids"].size for batch in prepared]
    row = {
        "shards": shards,
        "tokens of a batch, padded": [min(sizes), max(sizes)],
        "forwards alone, ns a token": alone * 1e9,
    }
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        for name in ("first survey on a machine", "later surveys"):
            row[name] = surveyed(as_new(scope), corpus, options, alone)
        row["lines that wait for the device"] = waits(scope, portions[0])
    return row


def surveyed(scope: hs.Scope, corpus: Any, options: dict[str, Any], alone: float) -> dict[str, Any]:
    """One survey beside the forward passes alone, which take `alone` seconds a token."""
    settled()
    seen: list[tuple[float, int, bool]] = []  # when, tokens by then, whether text comes prepared
    start = time.perf_counter()
    survey = hs.survey(
        scope, corpus, **options,
        progress=lambda p: seen.append((time.perf_counter(), p.tokens, bool(p.note))),
    )  # fmt: skip
    settled()
    taken = time.perf_counter() - start
    tokens = survey.metadata["tokens"]
    at, before, _ = next((one for one in seen if one[2]), seen[0])
    end, after, _ = seen[-1]
    return {
        "tokens": tokens,
        "forwards alone, s": alone * tokens,
        "text to table, s": taken,
        "text to table of the forwards": taken / (alone * tokens),
        "once running, of the forwards": (end - at) / (alone * (after - before)),
        "once running, tokens a second": (after - before) / (end - at),
        "first sums after, s": seen[0][0] - start,
        "last sums to table, s": taken - (end - start),
    }


def text_file(tokenizer: Any, folder: str, given: Path | None, megabytes: float) -> str:
    """A file of so many megabytes."""
    text = given.read_text() if given else "\n\n".join(
        f"{a}\n{b}" for a, b in made_up(tokenizer, 2_000, 512)
    )  # fmt: skip
    file = Path(folder) / "corpus.txt"
    with file.open("w") as writing:
        while writing.tell() < megabytes * 1e6:
            writing.write(text.rstrip("\n")[: int(megabytes * 1e6)] + "\n\n")
    return str(file)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--corpus", type=Path)
    options.add_argument("--megabytes", type=float, default=200)
    options.add_argument("--pairs", type=int, default=262_144, help="of 128 tokens")
    options.add_argument("--out", type=Path)
    options.add_argument("--device", default="cuda")
    options.add_argument("--small", action="store_true")
    asked = options.parse_args()
    if asked.small:
        sharding.DOCUMENTS, sharding.LEAST = 8, 10_000
        asked.pairs, asked.megabytes = min(asked.pairs, 128), min(asked.megabytes, 0.1)
    scope = bert(asked.device, asked.small)
    found: dict[str, Any] = {"torch": torch.__version__, "processes that prepare text": helpers()}
    if asked.device == "cuda":
        found["device"] = torch.cuda.get_device_name()

    def told(name: str, row: dict[str, Any]) -> None:
        found[name] = row
        print(name, json.dumps(row, indent=1), flush=True)
        if asked.out is not None:
            asked.out.write_text(json.dumps(found, indent=1) + "\n")

    with tempfile.TemporaryDirectory() as folder:
        file = text_file(scope.tokenizer, folder, asked.corpus, asked.megabytes)
        told("a text file in windows of 128", measure(scope, file, max_tokens=128))
    for length in (128, 512):
        distinct = made_up(scope.tokenizer, min(8_192, asked.pairs), length)
        pairs = (distinct * (asked.pairs // len(distinct)))[: asked.pairs * 128 // length]
        told(f"pairs of {length} tokens", measure(scope, pairs, max_tokens=length))


if __name__ == "__main__":
    main()
