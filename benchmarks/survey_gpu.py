"""Survey on an NVIDIA GPU against the plain forward pass, and against the ways of the peers.

    PYTHONPATH=src python benchmarks/survey_gpu.py [--out DIR] [--encoder] [--sweep]

Checks the kernel against float64 first, then
times BERT-base 256×128 and 64×512 in bfloat16 and a grouped-query decoder at up to 131,072 tokens
(some minutes on an H200); with --encoder BERT alone, with --sweep also the kernel alone, tile by
tile. Ratios are measured in one run; every forward is that of the same model. Batches lie ready
here; from text to table is measured by `text_gpu.py`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import pathlib
import statistics as stats
import time

import numpy as np
import torch
from gpu_truth import DEVICE, check, make_call, make_grid, standard_statistics
from transformers import AutoTokenizer

from headscope.capture import capture
from headscope.corpus.bad_data import Faults
from headscope.corpus.text.batches import Encoder
from headscope.corpus.text.segments import Segment
from headscope.models.open import BUNDLED
from headscope.reading.scope import Scope
from headscope.statistics.features.grid import CLS, PUNCTUATION, SEP, Grid
from headscope.statistics.kernels import survey_launch
from headscope.statistics.kernels.blocks import Plan
from headscope.statistics.kernels.recorder import Recorder
from headscope.statistics.kernels.survey_launch import Tile
from headscope.statistics.statistic import Statistic
from headscope.surveys.corpus import Portion, Prepared
from headscope.surveys.loop import Measurer, features_for
from headscope.surveys.reducer import Batch
from headscope.surveys.reducers import Statistics

TILES = [
    Tile(64, 64, 4, 2), Tile(64, 64, 4, 3), Tile(64, 64, 4, 2, 168), Tile(64, 64, 4, 3, 168),
    Tile(64, 32, 4, 3), Tile(128, 32, 4, 3), Tile(128, 64, 8, 2), Tile(128, 64, 8, 3),
]  # fmt: skip
SINGLE = [  # precision: the second is used for heads of 64, the last for heads of 128
    Tile(64, 32, 4, 2), Tile(32, 32, 4, 2), Tile(64, 32, 8, 2), Tile(32, 32, 8, 2),
    Tile(32, 16, 8, 2),
]  # fmt: skip
STREAM = 16  # batches in a row
ROUNDS = 9
results: dict[str, object] = {}


def timed(run, repeats: int, warm: int = 3) -> float:
    """Median milliseconds on the device."""
    for _ in range(warm):
        run()
    torch.cuda.synchronize()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        found.append((time.perf_counter() - start) * 1e3)
    return stats.median(found)


def timed_alone(run, repeats: int) -> float:
    """Milliseconds of work on the device, launches queued so that the host is never waited for."""
    for _ in range(2):
        run()
    torch.cuda.synchronize()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(repeats):
        run()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / repeats


def sweep(
    name: str, batch, heads, groups, n, dim, causal, repeats: int, tiles, dtype=torch.bfloat16
) -> Tile:
    """Kernel times by tile, beside the attention torch would run."""
    chosen = standard_statistics()
    q, k, v = (
        torch.randn(batch, h, n, dim, device=DEVICE, dtype=dtype) for h in (heads, groups, groups)
    )
    grid = make_grid(batch, n, causal)
    call = make_call(q, k, v, grid)
    plan = Plan(grid, features_for([Statistics(chosen)], {grid.kind: grid})[grid.kind])
    plain = timed_alone(
        lambda: torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal, enable_gqa=heads != groups
        ),
        repeats,
    )
    found: dict[str, float] = {}
    best, fastest = survey_launch.tile_for(call), math.inf
    for tile in tiles:
        try:
            took = timed_alone(
                lambda tile=tile: survey_launch.from_scores(call, plan, tile), repeats
            )
        except Exception as error:
            print(f"  {tile}: {type(error).__name__} {str(error)[:120]}")
            continue
        found[str(dataclasses.astuple(tile))] = took
        print(
            f"  {name} {dataclasses.astuple(tile)}: {took:.3f} ms, {took / plain:.2f}× sdpa",
            flush=True,
        )
        if took < fastest:
            best, fastest = tile, took
    results[f"kernel {name}"] = {"sdpa ms": plain, "best": dataclasses.astuple(best), "ms": found}
    print(
        f"{name}: best {dataclasses.astuple(best)} {fastest:.3f} ms, sdpa {plain:.3f} ms",
        flush=True,
    )
    return best


def survey_pass(model, inputs, grid: Grid, chosen: list[Statistic]):
    """One batch of a survey: forward pass, features, statistics, tally."""
    on = {grid.kind: grid}
    features = features_for([Statistics(chosen)], on)

    def run() -> Statistics:
        fresh = dataclasses.replace(grid)  # nothing kept from the batch before
        recorder = Recorder({grid.kind: fresh}, features, lambda call: True)
        found = Statistics(chosen)
        with torch.no_grad(), capture(model, recorder, lazy=True):
            model(**inputs)
        found.add(Batch(recorder.rows(grid.kind), fresh, {}, {}))()
        return found

    return run


def bert(batch: int, n: int, peers: bool) -> None:
    """A stream of batches through a survey and through the bare model."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(BUNDLED)
    settings = BertConfig(vocab_size=len(tokenizer), attn_implementation="sdpa")
    model = BertModel(settings, add_pooling_layer=False).to(DEVICE, torch.bfloat16).eval()
    scope = Scope(model, tokenizer, "BERT-base")
    assert scope.layers["encoder"] == settings.num_hidden_layers  # described before it is timed
    texts = made_up(tokenizer, STREAM * batch, n)
    chosen = standard_statistics()
    prepared = list(Encoder.of(scope, batch * n, n).batches(texts))
    assert [b.inputs["input_ids"].shape for b in prepared] == [(batch, n)] * STREAM
    inputs = [part.on(scope.device) for part in prepared]
    measurer = Measurer(scope, [Statistics(chosen)], seed=0)
    portion = Portion(0, 0, texts, len(texts), Faults(), True)

    def plain() -> None:
        with torch.no_grad():
            for part in inputs:
                model(**part)

    def measured() -> None:
        list(measurer.portions([Prepared(portion, prepared)]))

    name = f"BERT-base {batch}×{n} bf16"
    a, b = [], []
    for _ in range(ROUNDS):  # in turn, so that a change of clock speed meets both
        a.append(timed(plain, 1, warm=1))
        b.append(timed(measured, 1, warm=1))
    bare = stats.median(a) / STREAM
    ratios = sorted(y / x for x, y in zip(a, b, strict=True))
    rows = {
        "plain sdpa forward ms": bare,
        "survey ms": stats.median(b) / STREAM,
        "survey ratio": stats.median(ratios),
        "smallest ratio": ratios[0],
        "largest ratio": ratios[-1],
        "statistics": len(chosen),
    }
    if peers:
        grid = make_grid(batch, n, causal=False)
        rows.update(peer_ways(model, inputs[0], grid, bare))
    results[name] = rows
    print(name, {k: round(v, 3) for k, v in rows.items()}, flush=True)


def made_up(tokenizer, count: int, n: int) -> list[Segment]:
    """Pairs of sentences of random words, each pair longer than n tokens, so that all are cut."""
    words = [word for word in tokenizer.get_vocab() if word.isalpha()]
    chance = np.random.default_rng(0)

    def sentence() -> str:
        drawn = [words[i] for i in chance.integers(len(words), size=n // 2)]
        return ", ".join(" ".join(drawn[i : i + 9]) for i in range(0, len(drawn), 9)) + "."

    return [Segment(i, i, sentence(), sentence()) for i in range(count)]


def peer_ways(model, inputs, grid: Grid, plain: float) -> dict[str, float]:
    """Every map kept: statistics on the GPU, or maps copied to the host and reduced there."""
    model.set_attn_implementation("eager")
    key = torch.stack([(grid.key.classes == c).float() for c in (CLS, SEP, PUNCTUATION)], -1).to(
        torch.bfloat16
    )

    def reduce(maps, columns):
        found = [
            maps @ columns.to(maps.dtype),
            -(maps.float() * (maps.float() + 1e-9).log()).sum(-1),
            maps.amax(-1),
        ]
        return found + [maps.diagonal(o, 2, 3) for o in (-1, 0, 1)]

    def on_gpu() -> None:
        with torch.no_grad():
            for maps in model(**inputs, output_attentions=True).attentions:
                reduce(maps, key[:, None])

    def on_host() -> None:
        with torch.no_grad():
            host = [
                maps.float().cpu().numpy()
                for maps in model(**inputs, output_attentions=True).attentions
            ]
        columns = key.float().cpu().numpy()[:, None]
        for maps in host:
            maps @ columns
            -(maps * np.log(maps + 1e-9)).sum(-1)
            maps.max(-1)

    try:
        gpu = timed(on_gpu, 3, warm=1)
        host = timed(on_host, 1, warm=0)
    finally:
        model.set_attn_implementation("sdpa")
    return {"maps kept on the GPU ratio": gpu / plain, "maps to the host ratio": host / plain}


def decoder(lengths: list[int], shape: dict, name: str) -> None:
    from transformers import LlamaConfig, LlamaModel

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=32_000, max_position_embeddings=max(lengths), attn_implementation="sdpa", **shape
    )
    with torch.device(DEVICE):
        torch.set_default_dtype(torch.bfloat16)
        model = LlamaModel(config).eval()
        torch.set_default_dtype(torch.float32)
    chosen = standard_statistics()
    rows: dict[str, object] = {}
    memory = {}
    for n in lengths:
        grid = make_grid(1, n, causal=True)
        inputs = {"input_ids": grid.query.ids, "use_cache": False}
        survey = survey_pass(model, inputs, grid, chosen)

        def plain(inputs=inputs) -> None:
            with torch.no_grad():
                model(**inputs)

        repeats = 3 if n > 40_000 else 5
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        resting = torch.cuda.memory_allocated()
        a = timed(plain, repeats, warm=1)
        plain_memory = torch.cuda.max_memory_allocated() - resting
        torch.cuda.reset_peak_memory_stats()
        b = timed(survey, repeats, warm=1)
        memory[n] = torch.cuda.max_memory_allocated() - resting
        rows[f"{n} tokens"] = {
            "plain sdpa forward ms": a, "survey ms": b, "survey ratio": b / a,
            "plain MiB": plain_memory / 2**20, "survey MiB": memory[n] / 2**20,
            "survey bytes per token": memory[n] / n,
        }  # fmt: skip
        print(name, n, {k: round(v, 3) for k, v in rows[f"{n} tokens"].items()}, flush=True)
    rows["maps of every layer at 16,384 tokens"] = out_of_memory(model)
    results[name] = rows


def out_of_memory(model) -> str:
    """What the peers' way does at 16,384 tokens."""
    model.set_attn_implementation("eager")
    ids = torch.ones(1, 16_384, dtype=torch.long, device=DEVICE)
    torch.cuda.reset_peak_memory_stats()
    try:
        with torch.no_grad():
            model(input_ids=ids, use_cache=False, output_attentions=True)
        said = f"{torch.cuda.max_memory_allocated() / 2**30:.0f} GiB"
    except torch.OutOfMemoryError:
        said = "out of memory"
    finally:
        model.set_attn_implementation("sdpa")
        torch.cuda.empty_cache()
    print("maps of every layer at 16,384 tokens:", said, flush=True)
    return said


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--out", default=os.environ.get("OUT", "."))
    options.add_argument("--encoder", action="store_true", help="no decoders")
    options.add_argument("--sweep", action="store_true", help="also the kernel alone, by tile")
    chosen = options.parse_args()
    torch.manual_seed(0)
    print(torch.cuda.get_device_name(), torch.__version__, flush=True)
    results["device"], results["torch"] = torch.cuda.get_device_name(), torch.__version__
    started = time.perf_counter()
    target = pathlib.Path(chosen.out) / "survey_gpu.json"
    small = {
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 4,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
    }
    large = {**small, "hidden_size": 4096, "intermediate_size": 14_336, "num_hidden_layers": 2}
    try:
        results["largest difference from float64"] = check()
        bert(256, 128, peers=True)
        bert(64, 512, peers=True)
        if not chosen.encoder:
            decoder([32_768, 131_072], small, "GQA decoder, 4 layers, 32 heads of 64")
            decoder([131_072], large, "GQA decoder, 2 layers, 32 heads of 128")
        if chosen.sweep:
            sweep("256×128 d64", 256, 12, 12, 128, 64, False, 20, TILES)
            sweep("64×512 d64", 64, 12, 12, 512, 64, False, 20, TILES)
            sweep("32768 causal d64 g8", 1, 32, 8, 32_768, 64, True, 3, TILES)
            sweep("32768 causal d128 g8", 1, 32, 8, 32_768, 128, True, 3, TILES)
            for dim in (32, 64, 128):
                shape = (256, 12, 12, 128, dim, False, 5, SINGLE, torch.float32)
                sweep(f"256×128 d{dim} float32", *shape)
    finally:
        results["seconds"] = time.perf_counter() - started
        target.write_text(json.dumps(results, indent=1, default=str))
        print(f"Wrote {target} after {results['seconds']:.0f} s")


if __name__ == "__main__":
    main()
