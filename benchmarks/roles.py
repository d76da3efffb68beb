"""What `hs.find_heads` costs beside the forward passes alone, and whether its memory grows.

    python benchmarks/roles.py [--documents N] [--speech whisper-base] [--recordings N]

BERT of 12 layers × 12 heads with random weights reads documents of about 60 tokens on one thread.
Processor times, the better of two, in batches of the same texts; plain passes capture nothing.
--speech: also what `hs.probe.speech` costs, over recordings of 20 seconds with 50 words each, for a
Whisper in a folder such as requirements/fetch_data.py makes.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
import wave
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import transformers

import headscope as hs
from headscope.corpus.bad_data import Faults
from headscope.corpus.links.linked import of_fields
from headscope.corpus.links.word_times import read_word_times
from headscope.roles.encoded import batches
from headscope.roles.fields import LINKS, SPEECH
from headscope.studies.whisper.model import open_model

SECONDS, SPOKEN = 20, 50
WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "ran", "to", "town"]
TEXT = "Ann met Bob in town and gave the old book to him . "


def seconds(work: Callable[..., object], *given: object) -> float:
    started = time.process_time()
    work(*given)
    return time.process_time() - started


def recordings(folder: Path, number: int) -> None:
    """Noise, with word times at equal steps."""
    generator = np.random.default_rng(0)
    for at in range(number):
        samples = (generator.standard_normal(SECONDS * 16000) * 3000).astype("<i2")
        with wave.open(str(folder / f"{at}.wav"), "wb") as file:
            file.setparams((1, 2, 16000, len(samples), "NONE", ""))
            file.writeframes(samples.tobytes())
        step = SECONDS / SPOKEN
        words = (
            f"{at} 1 {step * word} {step} {WORDS[word % len(WORDS)]}" for word in range(SPOKEN)
        )
        (folder / f"{at}.ctm").write_text("\n".join(words))


def speech(model: str, number: int) -> None:
    scope = open_model(model)
    with tempfile.TemporaryDirectory() as name:
        recordings(Path(name), number)

        def passes() -> None:
            source = read_word_times(name, Faults())
            with torch.inference_mode():
                for one in batches(scope, source, "cross", SPEECH, Faults(), None):
                    scope.model(**one.inputs)

        def search() -> None:
            hs.probe.speech(scope, name, most_heads=1, progress=False)

        passes()
        forward = min(seconds(passes) for _ in range(2))
        found = min(seconds(search) for _ in range(2))
    print(
        f"{scope.name}, {number} recordings: forward passes {forward:.1f} s, probe.speech "
        f"{found:.1f} s: {found / forward:.2f} times"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=48)
    parser.add_argument("--speech", help="a Whisper")
    parser.add_argument("--recordings", type=int, default=6)
    asked = parser.parse_args()
    number = asked.documents
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
    if asked.speech:
        speech(asked.speech, asked.recordings)


if __name__ == "__main__":
    main()
