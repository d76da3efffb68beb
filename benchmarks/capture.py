"""Memory of capture: how many layers' maps are alive at once, beside `output_attentions`.

    python benchmarks/capture.py [--tokens 1024] [--layers 12] [--heads 12]

A random BERT of that size reads one text. Each way of reading runs in a process of its own. Two
measures: what torch allocates beyond the weights of the model (exact, from its profiler), and
the process's peak resident memory beyond a plain forward (rough, but with numpy in it).
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
from typing import Any

WAYS = {
    "plain": "plain forward, no attention kept",
    "eager": "the model's own eager forward, no attention kept",
    "output_attentions": "output_attentions=True",
    "stream": "sink that looks at every layer's weights and keeps nothing",
    "some": "scope.read of 2 layers, weights kept",
    "qk": "scope.read of q and k only, no weights",
}


def build(tokens: int, layers: int, heads: int) -> Any:
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    torch.set_num_threads(1)
    configuration = BertConfig(
        num_hidden_layers=layers,
        num_attention_heads=heads,
        hidden_size=64 * heads,
        intermediate_size=256 * heads,
        max_position_embeddings=tokens,
    )
    return BertModel(configuration).eval()


def run(way: str, model: Any, tokens: int, layers: int) -> None:
    import torch

    from headscope.capture import Call, capture
    from headscope.reading import Scope

    ids = torch.randint(5, 30_000, (1, tokens), generator=torch.Generator().manual_seed(1))
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    scope = Scope(model, None, "random BERT")

    def look(call: Call) -> None:
        call.weights.max()

    with torch.no_grad():
        if way == "stream":
            with capture(model, look):
                model(**inputs)
        elif way == "some":
            scope.read_inputs(inputs, layers=[0, layers // 2], keep=("weights",))
        elif way == "qk":
            scope.read_inputs(inputs, keep=("q", "k"))
        else:
            if way != "plain":
                model.set_attn_implementation("eager")
            model(**inputs, output_attentions=way == "output_attentions")


def peak_allocated(work: Any) -> int:
    """The most bytes torch had allocated at once while `work` ran, above where it started."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        work()
    events = [
        (event.start_ns(), event.nbytes())
        for event in profiler.profiler.kineto_results.events()  # pyright: ignore
        if event.name() == "[memory]"
    ]
    alive = most = 0
    for _, size in sorted(events, key=lambda event: event[0]):
        alive += size
        most = max(most, alive)
    return most


def measure(way: str, tokens: int, layers: int, heads: int, resident: bool) -> int:
    model = build(tokens, layers, heads)
    if not resident:
        return peak_allocated(lambda: run(way, model, tokens, layers))
    run(way, model, tokens, layers)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _send(results: Any, *arguments: Any) -> None:
    results.put(measure(*arguments))


def in_a_process(*arguments: Any) -> int:
    """Forked once torch is imported, so that every way starts from the same memory."""
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    process = context.Process(target=_send, args=(results, *arguments))
    process.start()
    measured: int = results.get()
    process.join()
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--heads", type=int, default=12)
    options = parser.parse_args()
    sizes = (options.tokens, options.layers, options.heads)
    import transformers.models.bert  # noqa: F401

    import headscope.reading  # noqa: F401  # what all processes share

    one_map = options.heads * options.tokens**2 * 4
    print(f"{options.layers}×{options.heads} heads, {options.tokens} tokens, float32;", end=" ")
    print(f"one layer's maps take {one_map / 1e6:.0f} MB")
    print("| reading | peak allocated (layers' maps) | of output_attentions | resident |")
    print("|---|---|---|---|")
    allocated = {way: in_a_process(way, *sizes, False) for way in WAYS}
    resident = {way: in_a_process(way, *sizes, True) for way in WAYS}
    for way, words in WAYS.items():
        above = resident[way] - resident["plain"]
        print(
            f"| {words} | {allocated[way] / 1e6:.0f} MB ({allocated[way] / one_map:.2f}) "
            f"| 1/{allocated['output_attentions'] / allocated[way]:.1f} | {above / 1e6:+.0f} MB |"
        )


if __name__ == "__main__":
    main()
