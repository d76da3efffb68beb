"""A small decoder whose induction heads form while it is trained, with its checkpoints.

Two layers learn sequences that repeat themselves: the second half can be told from the first by
looking at what followed the same token before. Lengths vary from batch to batch: with one length
a head learns its offset by heart, and its induction score, on repeats of another length, stays 0.
Minutes on one core:

    python -m training.decoder --seed 0 -o decoder-0
    headscope checkpoints decoder-0 --corpus decoder-0/corpus.jsonl -o decoder-0.parquet
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

WORDS = 32
HALF = (8, 32)  # tokens that are then repeated: from, to
BATCH = 32
RATE = 3e-3


def sequences(count: int, generator: torch.Generator) -> Tensor:
    """count × an even length: random tokens, twice."""
    length = int(torch.randint(HALF[0], HALF[1] + 1, (), generator=generator))
    half = torch.randint(1, WORDS + 1, (count, length), generator=generator)
    return torch.cat([half, half], dim=1)


def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<unk>": 0} | {f"t{number}": number for number in range(1, WORDS + 1)}
    made = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>", pad_token="<unk>")


def decoder(seed: int) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=WORDS + 1,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=128,
            tie_word_embeddings=False,
        )
    )


def kept_steps(steps: int, every: int) -> set[int]:
    """Every so many steps, the beginning and the end."""
    return {0, *range(every, steps, every), steps}


def train(seed: int, output: Path, steps: int = 1000, every: int = 25) -> list[dict[str, float]]:
    """Train, and write step-N folders, their loss as losses.jsonl and texts to survey."""
    generator = torch.Generator().manual_seed(seed)
    model, words = decoder(seed), tokenizer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    output.mkdir(parents=True, exist_ok=True)
    unseen = torch.Generator().manual_seed(1000 + seed)
    texts = sequences(24, unseen)
    checks = [sequences(8, unseen) for _ in range(8)]  # one batch of one length would be noise
    # a text a line: lines of a plain file could be read as one document
    lines = [json.dumps({"text": " ".join(f"t{int(one)}" for one in row)}) for row in texts]
    (output / "corpus.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    losses: list[dict[str, float]] = []
    kept = kept_steps(steps, every)
    for step in range(steps + 1):
        if step in kept:
            model.save_pretrained(output / f"step-{step}")
            words.save_pretrained(output / f"step-{step}")
            with torch.no_grad():
                found = [_losses(model, batch) for batch in checks]
            whole = torch.cat([one.flatten() for one in found])
            # of the tokens that the first half tells
            repeated = torch.cat([one[:, one.shape[1] // 2 :].flatten() for one in found])
            losses.append(
                {"step": step, "loss": float(whole.mean()), "repeated": float(repeated.mean())}
            )
        optimizer.zero_grad()
        _losses(model, sequences(BATCH, generator)).mean().backward()
        optimizer.step()
    text = "\n".join(json.dumps(one) for one in losses) + "\n"
    (output / "losses.jsonl").write_text(text, "utf-8")
    return losses


def _losses(model: Any, batch: Tensor) -> Tensor:
    """b n-1: the loss of every next token."""
    logits = model(batch).logits[:, :-1]
    return torch.nn.functional.cross_entropy(logits.transpose(1, 2), batch[:, 1:], reduction="none")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--every", type=int, default=25)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    train(given.seed, given.output, given.steps, given.every)


if __name__ == "__main__":
    main()
