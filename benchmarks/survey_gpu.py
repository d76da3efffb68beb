"""Survey on an NVIDIA GPU against the plain forward pass, and against the ways of the peers.

    PYTHONPATH=src python benchmarks/survey_gpu.py [--out DIR] [--quick]

Needs torch, triton, transformers and numpy alone. Checks the kernel against float64 first, tries
a few tiles, then times: BERT-base 256×128 and 64×512 in bfloat16, and a grouped-query decoder at
up to 131,072 tokens. Ratios are measured in one run; every forward is that of the same model.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import math
import os
import pathlib
import pkgutil
import statistics as stats
import time

import numpy as np
import torch

from headscope.capture import capture
from headscope.capture.call import Call, Lazy
from headscope.statistics.grid import CLS, PADDING, PUNCTUATION, SEP, WORD, Grid, Side
from headscope.statistics.kernels import fused
from headscope.statistics.kernels.fused import Tile
from headscope.statistics.kernels.plan import Plan
from headscope.statistics.recorder import Recorder
from headscope.statistics.statistic import Statistic
from headscope.statistics.take import features_for, take
from headscope.statistics.tally import Tally

DEVICE = "cuda"
TILES = [
    Tile(128, 128, 8, 2), Tile(128, 64, 4, 2), Tile(128, 64, 4, 3), Tile(128, 64, 8, 2),
    Tile(128, 64, 8, 3), Tile(128, 32, 4, 3), Tile(64, 64, 4, 2), Tile(64, 64, 4, 3),
    Tile(64, 128, 4, 2), Tile(64, 32, 4, 3), Tile(128, 128, 8, 3), Tile(256, 64, 8, 2),
]  # fmt: skip
results: dict[str, object] = {}


def standard_statistics() -> list[Statistic]:
    """The standard statistics, found in their folder; files that need more packages are passed."""
    import headscope.statistics as home

    found: dict[str, Statistic] = {}
    for entry in pkgutil.iter_modules(home.__path__):
        try:
            module = importlib.import_module(f"headscope.statistics.{entry.name}")
        except ImportError:
            continue
        for thing in vars(module).values():
            is_one = isinstance(thing, type) and issubclass(thing, Statistic)
            if is_one and "name" in vars(thing) and thing.standard:
                found[thing.name] = thing()
    return list(found.values())


def make_grid(batch: int, length: int, causal: bool, lengths: list[int] | None = None) -> Grid:
    """Tokens like those of text: [CLS] … [SEP] … [SEP], a tenth of them punctuation."""
    chance = np.random.default_rng(0)
    ids = np.minimum(chance.zipf(1.3, (batch, length)), 29_000).astype(np.int64)
    classes = np.where(chance.random((batch, length)) < 0.1, PUNCTUATION, WORD).astype(np.int8)
    segments = np.zeros((batch, length), dtype=np.int8)
    classes[:, 0] = CLS
    if not causal:
        classes[:, [length // 2, length - 1]] = SEP
        segments[:, length // 2 + 1 :] = 1
    for row, count in enumerate(lengths or []):
        classes[row, count:] = PADDING
        segments[row, count:] = PADDING
    stops = classes == PUNCTUATION
    side = Side(
        *(
            torch.from_numpy(a).to(DEVICE)
            for a in (ids, classes, segments, ids.astype(np.int32), stops)
        )
    )
    kind = "decoder" if causal else "encoder"
    return Grid(kind, causal, side, side, np.arange(batch))


def make_call(q, k, v, grid: Grid, window: int | None = None) -> Call:
    values = {field.name: None for field in dataclasses.fields(Call)}
    values.update(
        kind=grid.kind, layer=0, q=q, k=k, v=v, scaling=q.shape[-1] ** -0.5,
        causal=grid.causal, window=window, lazy_weights=Lazy(lambda: None),
    )  # fmt: skip
    return Call(**values)


def reference(
    call: Call, grid: Grid, names: list[str]
) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Row features in float64 from the full map, written from their definitions."""
    q, k, v = (t.double() for t in (call.q, call.k, call.v))
    repeat = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
    scores = q @ k.transpose(2, 3) * call.scaling
    n = scores.shape[-1]
    i = torch.arange(n, device=DEVICE)[:, None]
    j = torch.arange(n, device=DEVICE)[None, :]
    seen = grid.key.valid[:, None, None, :].expand_as(scores[:, :1])
    if call.causal:
        seen = seen & (j <= i)
    if call.window is not None:
        seen = seen & (i - j < call.window)
    weights = scores.masked_fill(~seen, -math.inf).softmax(-1).nan_to_num()
    key = {
        "cls": grid.key.classes == CLS, "sep": grid.key.classes == SEP, "stops": grid.key.stops,
        "first": (j == 0).expand(grid.key.ids.shape), "sentence_a": grid.key.segments == 0,
        "sentence_b": grid.key.segments == 1,
    }  # fmt: skip
    same = (grid.query.ids[:, :, None] == grid.key.ids[:, None]) & (i != j)
    same &= (grid.query.classes >= PUNCTUATION)[:, :, None] & (grid.key.classes >= PUNCTUATION)[
        :, None
    ]
    other = grid.query.segments[:, :, None] != grid.key.segments[:, None]
    pair = {
        "distance": (i - j).abs().double()[None],
        "distance_squared": (i - j).double().square()[None],
        "same_token": same, "same_token_other": same & other,
        "self": (i == j)[None], "previous": (i - 1 == j)[None], "next": (i + 1 == j)[None],
    }  # fmt: skip
    made = {}
    for name in names:
        if name in key:
            made[name] = torch.einsum("bhts,bs->bht", weights, key[name].double())
        elif name in pair:
            made[name] = (weights * pair[name].double()[:, None]).sum(-1)
        elif name == "entropy":
            made[name] = -(weights * weights.clamp_min(1e-300).log()).sum(-1)
        elif name == "largest":
            made[name] = weights.amax(-1)
    return made, (weights @ v).transpose(1, 2)


def check() -> None:
    """The kernel on this device against float64, over masks, groups, sizes and precisions."""
    chosen = standard_statistics()
    cases = []
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        for dim in (32, 64, 128):
            cases += [
                (2, 4, 4, 200, dim, False, None, [200, 77], dtype),
                (2, 4, 2, 333, dim, True, None, [333, 130], dtype),
                (1, 4, 1, 400, dim, True, 100, None, dtype),
            ]
    worst: dict[str, float] = {}
    for batch, heads, groups, n, dim, causal, window, lengths, dtype in cases:
        torch.manual_seed(n + dim)
        q, k, v = (
            torch.randn(batch, h, n, dim, device=DEVICE).to(dtype) for h in (heads, groups, groups)
        )
        grid = make_grid(batch, n, causal, lengths)
        call = make_call(q * 1.5, k, v, grid, window)
        plan = Plan(grid, features_for(chosen, {grid.kind: grid})[grid.kind])
        reduced, output = fused.from_scores(call, plan)
        expected, expected_output = reference(call, grid, plan.names)
        valid = grid.query.valid[:, None, :]
        for place, name in enumerate(plan.names):
            scale = 1.0 if not name.startswith("distance") else float(expected[name].abs().max())
            error = (
                (reduced.values[:, :, place].double() - expected[name]).abs() * valid
            ).max() / scale
            worst[name] = max(worst.get(name, 0.0), float(error))
        error = ((output.double() - expected_output).abs() * valid.transpose(1, 2)[..., None]).max()
        key = f"output {str(dtype).removeprefix('torch.')}"
        worst[key] = max(worst.get(key, 0.0), float(error))
    print("largest difference from float64:", {k: f"{v:.1e}" for k, v in worst.items()}, flush=True)
    results["largest difference from float64"] = worst
    assert all(v < 2e-5 for k, v in worst.items() if not k.startswith("output")), "kernel is wrong"
    assert worst["output float32"] < 1e-4 and worst["output bfloat16"] < 3e-2, "output is wrong"


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


def sweep(name: str, batch, heads, groups, n, dim, causal, repeats: int, tiles) -> Tile:
    """Kernel times by tile, beside the attention torch would run."""
    chosen = standard_statistics()
    q, k, v = (
        torch.randn(batch, h, n, dim, device=DEVICE, dtype=torch.bfloat16)
        for h in (heads, groups, groups)
    )
    grid = make_grid(batch, n, causal)
    call = make_call(q, k, v, grid)
    plan = Plan(grid, features_for(chosen, {grid.kind: grid})[grid.kind])
    plain = timed(
        lambda: torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal, enable_gqa=heads != groups
        ),
        repeats,
    )
    found: dict[str, float] = {}
    best, fastest = fused.tile_for(call), math.inf
    for tile in tiles:
        try:
            took = timed(lambda tile=tile: fused.from_scores(call, plan, tile), repeats, warm=2)
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
    features = features_for(chosen, on)

    def run() -> Tally:
        fresh = dataclasses.replace(grid)  # nothing kept from the batch before
        recorder = Recorder({grid.kind: fresh}, features, lambda call: True)
        tally = Tally(chosen)
        with torch.no_grad(), capture(model, recorder, lazy=True):
            model(**inputs)
        take(chosen, recorder.rows(grid.kind), fresh, tally)
        return tally

    return run


def use_tile(tile: Tile) -> None:
    fused.tile_for = lambda call: tile


def bert(batch: int, n: int, tile: Tile, repeats: int, peers: bool) -> None:
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    model = (
        BertModel(BertConfig(attn_implementation="sdpa"), add_pooling_layer=False)
        .to(DEVICE, torch.bfloat16)
        .eval()
    )
    grid = make_grid(batch, n, causal=False)
    inputs = {"input_ids": grid.query.ids, "attention_mask": torch.ones_like(grid.query.ids)}
    chosen = standard_statistics()
    use_tile(tile)
    survey = survey_pass(model, inputs, grid, chosen)

    def plain() -> None:
        with torch.no_grad():
            model(**inputs)

    name = f"BERT-base {batch}×{n} bf16"
    rows = {}
    a, b = [], []
    for _ in range(3):  # in turn, so that a change of clock speed meets both
        a.append(timed(plain, repeats))
        b.append(timed(survey, repeats))
    rows["plain sdpa forward ms"], rows["survey ms"] = stats.median(a), stats.median(b)
    rows["survey ratio"] = rows["survey ms"] / rows["plain sdpa forward ms"]
    rows["statistics"] = len(chosen)
    if peers:
        rows.update(peer_ways(model, inputs, grid, rows["plain sdpa forward ms"]))
    results[name] = rows
    print(name, {k: round(v, 3) for k, v in rows.items()}, flush=True)


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


def decoder(lengths: list[int], shape: dict, tile: Tile, name: str) -> None:
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
    use_tile(tile)
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
    options.add_argument("--quick", action="store_true", help="no sweep over tiles")
    chosen = options.parse_args()
    torch.manual_seed(0)
    print(torch.cuda.get_device_name(), torch.__version__, flush=True)
    results["device"], results["torch"] = torch.cuda.get_device_name(), torch.__version__
    started = time.perf_counter()
    target = pathlib.Path(chosen.out) / "survey_gpu.json"
    try:
        check()
        tiles = [] if chosen.quick else TILES
        default = {128: Tile(), 64: Tile(128, 64, 4, 3)}
        short = (
            sweep("256×128 d64", 256, 12, 12, 128, 64, False, 10, tiles) if tiles else default[64]
        )
        middle = (
            sweep("64×512 d64", 64, 12, 12, 512, 64, False, 10, tiles) if tiles else default[64]
        )
        long = (
            sweep("32768 causal d64 g8", 1, 32, 8, 32_768, 64, True, 2, tiles)
            if tiles
            else default[64]
        )
        wide = (
            sweep("32768 causal d128 g8", 1, 32, 8, 32_768, 128, True, 2, tiles)
            if tiles
            else default[128]
        )
        bert(256, 128, short, 10, peers=True)
        bert(64, 512, middle, 10, peers=True)
        small = {
            "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 4,
            "num_attention_heads": 32, "num_key_value_heads": 8,
        }  # fmt: skip
        decoder([32_768, 65_536, 131_072], small, long, "GQA decoder, 4 layers, 32 heads of 64")
        large = {**small, "hidden_size": 4096, "intermediate_size": 14_336, "num_hidden_layers": 2}
        decoder([131_072], large, wide, "GQA decoder, 2 layers, 32 heads of 128")
    finally:
        results["seconds"] = time.perf_counter() - started
        target.write_text(json.dumps(results, indent=1, default=str))
        print(f"Wrote {target} after {results['seconds']:.0f} s")


if __name__ == "__main__":
    main()
