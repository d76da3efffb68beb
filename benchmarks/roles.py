"""What `hs.find_heads` costs beside the forward passes alone, and whether its memory grows.

    python benchmarks/roles.py [--documents N]

BERT of 12 layers × 12 heads with random weights reads documents of about 60 tokens on one thread.
Processor times, the better of two, in batches of the same texts; plain passes capture nothing.
"""

from __future__ import annotations

import argparse
import resource
import time

import torch
import transformers

import headscope as hs
from headscope.corpus.bad_data import Faults
from headscope.corpus.links.linked import of_fields
from headscope.roles.encoded import batches
from headscope.roles.fields import LINKS

TEXT = "Ann met Bob in town and gave the old book to him . "


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=48)
    number = parser.parse_args().documents
    torch.set_num_threads(1)
    torch.manual_seed(0)
    tokenizer = hs.load().tokenizer
    configuration = transformers.BertConfig(vocab_size=len(tokenizer))
    scope = hs.load(transformers.BertModel(configuration).eval(), tokenizer, name="bert")
    pairs = [[[8 + at, 11 + at], [at, 3 + at]] for at in range(0, len(TEXT) * 4, len(TEXT))]
    documents = [{"text": TEXT * 4, "pairs": pairs} for _ in range(number)]

    def passes() -> None:
        made = [of_fields(one, str(at), Faults()) for at, one in enumerate(documents)]
        with torch.inference_mode():
            for one in batches(scope, [a for a in made if a], "encoder", LINKS, Faults(), None):
                scope.model(**one.inputs)

    def search(size: int) -> None:
        hs.find_heads(scope, documents[:size], progress=False)

    def seconds(work, *given) -> float:
        started = time.process_time()
        work(*given)
        return time.process_time() - started

    passes()
    forward = min(seconds(passes) for _ in range(2))
    search(number // 4)
    quarter = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = min(seconds(search, number) for _ in range(2))
    whole = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"forward passes {forward:.1f} s, find_heads {found:.1f} s: {found / forward:.2f} times")
    print(
        f"peak memory: {quarter:.0f} MiB for {number // 4} documents, {whole:.0f} MiB for {number}"
    )


if __name__ == "__main__":
    main()
