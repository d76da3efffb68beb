"""Survey of the standard statistics on the CPU, against an eager forward without attentions.

    python benchmarks/survey.py [--rounds 5] [--skip-memory]

BERT-base shape, 16 segments of 128 tokens. Forward passes and survey batches are timed in turn in
one process, so that whatever else the machine does meets both. Then peak memory of whole surveys
of 100 and of 2,000 documents, each in a process of its own. On a GPU: benchmarks/survey_gpu.py.
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
import torch

BATCH, TOKENS = 16, 128


def bert_base(layers: int = 12):
    """BERT-base with random weights and a vocabulary of its own; no download."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    import headscope as hs

    words = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", ".", ","]
    words += ["W1", *(f"w{n}" for n in range(2000))]
    made = Tokenizer(models.WordLevel({w: n for n, w in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", unk_token="[UNK]",
    )  # fmt: skip
    torch.manual_seed(0)
    shape = BertConfig(vocab_size=len(words), num_hidden_layers=layers)
    model = BertModel(shape, add_pooling_layer=False).eval()
    return hs.load(model, tokenizer, name="BERT-base shape")


def texts(count: int) -> list[tuple[str, str]]:
    chance = np.random.default_rng(0)
    half = (TOKENS - 3) // 2

    def words(n: int) -> str:
        return "W1 " + " ".join(f"w{w}" for w in chance.integers(0, 2000, n - 2)) + " ."

    return [(words(half), words(TOKENS - 3 - half)) for _ in range(count)]


def speed(rounds: int) -> dict[str, float]:
    from headscope.corpus.bad_data import Faults
    from headscope.corpus.text.batches import Encoder
    from headscope.corpus.text.segments import Segment
    from headscope.statistics.discovery import measurable
    from headscope.surveys.corpus import Portion, Prepared
    from headscope.surveys.loop import Measurer
    from headscope.surveys.reducers import Statistics

    scope = bert_base()
    segments = [Segment(n, n, *pair) for n, pair in enumerate(texts(BATCH))]
    chosen = measurable(scope, None)[0]
    encoder = Encoder.of(scope, most_tokens=BATCH * TOKENS)
    inputs = next(encoder.batches(segments)).on(scope.device)
    measurer = Measurer(scope, [Statistics(chosen)], seed=0)
    portion = Portion(0, 0, segments, BATCH, Faults(), True)
    scope.model.set_attn_implementation("eager")

    def forward() -> None:
        with torch.no_grad():
            scope.model(**inputs)

    def survey() -> None:
        list(measurer.portions([Prepared(portion, list(encoder.batches(segments)))]))

    def kept_maps() -> None:  # the peers' way: every map kept, then reduced
        with torch.no_grad():
            maps = scope.model(**inputs, output_attentions=True).attentions
        for layer in [m.numpy() for m in maps]:
            -(layer * np.log(layer + 1e-9)).sum(-1)
            layer.max(-1)
            layer @ np.eye(TOKENS, 3, dtype=np.float32)
            [np.diagonal(layer, o, 2, 3).sum(-1) for o in (-1, 0, 1)]

    runs = {"forward": forward, "survey": survey, "maps kept": kept_maps}
    for run in runs.values():
        run()
    wall = {name: [] for name in runs}
    cpu = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start, start_cpu = time.perf_counter(), time.process_time()
            run()
            wall[name].append(time.perf_counter() - start)
            cpu[name].append(time.process_time() - start_cpu)
    plain, plain_cpu = stats.median(wall["forward"]), stats.median(cpu["forward"])
    return {
        "statistics": len(chosen),
        "threads": torch.get_num_threads(),
        "eager forward s": plain,
        "survey ratio": stats.median(wall["survey"]) / plain,
        "survey ratio of processor time": stats.median(cpu["survey"]) / plain_cpu,
        "maps kept ratio": stats.median(wall["maps kept"]) / plain,
    }


def preparation() -> float:
    """Tokens a core reads, cuts into sentence pairs and tokenises in a second."""
    from headscope.corpus.bad_data import Faults
    from headscope.corpus.text.batches import Encoder
    from headscope.corpus.text.documents import Reader
    from headscope.corpus.text.segments import segments
    from headscope.statistics.features.grid import grids

    scope = bert_base()
    corpus = [f"{first} {second}" * 4 for first, second in texts(200)]
    start = time.process_time()
    documents = Reader().documents(corpus, Faults())
    cut = list(segments(documents, "pairs", scope.tokenizer, longest=TOKENS))
    made = list(Encoder.of(scope, 2**15, TOKENS).batches(cut))
    for batch in made:
        grids(scope, batch)
    count = sum(batch.amount.tokens for batch in made)
    return count / (time.process_time() - start)


def memory(documents: int) -> float:
    """Peak MiB of a whole survey in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--documents", str(documents)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def one_survey(documents: int) -> None:
    import headscope as hs

    scope = bert_base()
    scope.model.encoder.layer = scope.model.encoder.layer[:2]  # memory of maps is per layer
    hs.survey(scope, texts(documents), progress=False)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--documents", type=int)
    options.add_argument("--skip-memory", action="store_true")
    given = options.parse_args()
    if given.documents:
        one_survey(given.documents)
        return
    found: dict[str, object] = {}
    if not given.skip_memory:  # first: a process is charged with the size of the one that starts it
        few, many = memory(100), memory(2000)
        found["peak MiB, 100 documents"], found["peak MiB, 2,000 documents"] = few, many
        found["memory ratio"] = many / few
    found |= speed(given.rounds)
    found["tokens a core prepares in a second"] = preparation()
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
