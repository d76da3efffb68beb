"""Train the model.

    python -m training.train --staged run/staged --tokenizer run/tokenizer -o run --seconds 900

Stops after `--seconds` or `--steps`, with the learning rate at zero either way. Run it again with
the same folder and it goes on from its last state; other settings may be given then. `--from`
starts from the weights of a checkpoint instead, with a new optimizer.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from training.checkpoints import append, load_state, load_weights, save_state, save_weights
from training.encoder import Encoder, Shape
from training.evaluation.baselines import Counts
from training.evaluation.evaluate import evaluate, table
from training.evaluation.survey import one_line, survey
from training.masking import mask
from training.pairs import Stream
from training.schedule import Schedule
from training.tokenizer import load_vocabulary

KEPT = {0, 50, 100, 200, 400, 800, 1600, 3200, 6400}
KEPT_EVERY = 6400  # afterwards


def lengths(text: str) -> dict[int, float]:
    """'64:0.4,128:0.6': each length's share of the tokens."""
    pairs = [item.split(":") for item in text.split(",")]
    return {int(length): float(share) for length, share in pairs}


def options_from(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--staged", type=Path, required=True)
    add("--tokenizer", type=Path, required=True)
    add("-o", "--out", type=Path, required=True)
    add("--seconds", type=float, help="time budget of the training, compilation included")
    add("--steps", type=int, help="instead of a time budget")
    add("--from", dest="start", type=Path, help="weights to start from")
    add("--batch-tokens", type=int, default=1 << 17)
    add("--lr", type=float, default=2e-3)
    add("--weight-decay", type=float, default=0.1)
    add("--warmup", type=int, default=500)
    add("--decay-share", type=float, default=0.35)
    add("--lengths", type=lengths, default="32:0.15,64:0.3,128:0.4,256:0.05,512:0.1")
    add("--final-lengths", type=lengths, default="32:0.1,64:0.2,128:0.3,256:0.1,512:0.3",
        help="while the learning rate decays")  # fmt: skip
    add("--dropout", type=float, default=0.0)
    add("--attention-dropout", type=float, default=0.0)
    add("--layers", type=int, default=12)
    add("--heads", type=int, default=8)
    add("--hidden", type=int, default=256)
    add("--inner", type=int, default=1024)
    add("--seed", type=int, default=1)
    add("--compile", default="default", help="a mode of torch.compile, or off")
    add("--kernel", choices=("any", "flash", "cudnn"), default="any", help="of attention, on CUDA")
    add("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    add("--log-every", type=int, default=50)
    add("--survey-inputs", type=int, default=256)
    add("--eval-tokens", type=int, default=1 << 19)
    add("--eval-lengths", type=lambda t: tuple(map(int, t.split(","))), default="64,128,512")
    options = parser.parse_args(arguments)
    if (options.seconds is None) == (options.steps is None):
        parser.error("give --seconds or --steps")
    return options


def optimizer_for(encoder: Encoder, options: argparse.Namespace) -> torch.optim.AdamW:
    matrices = [p for p in encoder.parameters() if p.ndim == 2]
    others = [p for p in encoder.parameters() if p.ndim != 2]  # biases and norms do not decay
    groups = [
        {"params": matrices, "weight_decay": options.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        groups, lr=options.lr, betas=(0.9, 0.98), eps=1e-6, fused=options.device == "cuda"
    )


def losses(
    encoder: Encoder, stream: Stream, count: int, length: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    pairs = stream.draw(count, length, generator)
    tokens, chosen, truth = mask(pairs, encoder.shape.vocabulary, generator)
    x = encoder.encode(tokens, pairs.segments)
    return (
        encoder.word_loss(x, chosen, truth),
        functional.cross_entropy(encoder.next_logits(x), pairs.is_random),
    )


class Run:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.out: Path = options.out
        self.out.mkdir(parents=True, exist_ok=True)
        self.vocabulary = load_vocabulary(options.tokenizer)
        self.train_stream = Stream.open(options.staged, "train", options.device)
        self.held_out = Stream.open(options.staged, "held", options.device)
        torch.manual_seed(options.seed)
        shape = Shape(
            len(self.vocabulary), options.layers, options.heads, options.hidden, options.inner
        )
        self.encoder = Encoder(shape).to(options.device)
        self.encoder.dropout = options.dropout
        self.encoder.attention_dropout = options.attention_dropout
        if options.device == "cuda":
            self.encoder.dtype = torch.bfloat16
            if options.kernel != "any":
                torch.backends.cuda.enable_cudnn_sdp(options.kernel == "cudnn")
                torch.backends.cuda.enable_flash_sdp(options.kernel == "flash")
        if options.compile != "off":
            self.encoder.compile_parts(options.compile)
        self.optimizer = optimizer_for(self.encoder, options)
        self.step = self.tokens = self.restarts = 0
        self.seconds_before = 0.0
        if options.steps:
            self.schedule = Schedule.for_steps(
                options.lr, options.warmup, options.decay_share, options.steps
            )
        else:
            self.schedule = Schedule(options.lr, options.warmup, options.decay_share)
        if options.start:
            load_weights(self.encoder, options.start)
            self.say(f"starting from {options.start}")
        elif (self.out / "state.pt").exists():
            self.restore(load_state(self.out / "state.pt"))
            self.say(f"going on from step {self.step}")
        self.began = time.monotonic()

    def say(self, text: str) -> None:
        print(text, flush=True)

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.began

    # state

    def state(self) -> dict[str, Any]:
        return {
            "encoder": self.encoder.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "tokens": self.tokens,
            "restarts": self.restarts,
            "seconds": self.seconds_before + self.elapsed,
            "schedule": asdict(self.schedule),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.encoder.load_state_dict(state["encoder"])
        self.optimizer.load_state_dict(state["optimizer"])
        for group, decay in zip(
            self.optimizer.param_groups, (self.options.weight_decay, 0.0), strict=True
        ):
            group["weight_decay"] = decay  # today's settings, not the saved ones
        self.step, self.tokens, self.restarts = state["step"], state["tokens"], state["restarts"]
        self.seconds_before = state["seconds"]
        if not self.options.steps and state["schedule"]["decay_start"] is not None:
            self.schedule = Schedule(**state["schedule"])

    def keep(self) -> None:
        """A checkpoint, its survey and the state to resume from."""
        paused = time.monotonic()
        save_weights(self.encoder, self.out / "checkpoints" / f"step-{self.step:06d}.safetensors")
        if self.step:
            save_state(self.out / "state.pt", self.state())
        result = survey(
            self.encoder, self.held_out, self.vocabulary, self.options.survey_inputs,
            length=min(128, max(self.options.lengths)),
        )  # fmt: skip
        held = evaluate(
            self.encoder, self.held_out, self.vocabulary,
            tokens=self.options.eval_tokens // 4, lengths=self.options.eval_lengths,
        )  # fmt: skip
        row = {"step": self.step, "tokens": self.tokens, "held_out": held, **result}
        append(self.out / "surveys.jsonl", row)
        self.say(f"step {self.step} heads: {one_line(result)}")
        self.say(table(held) + f"\n  (checkpoint took {time.monotonic() - paused:.1f} s)")

    # training

    def one_step(self) -> Tensor:
        options, step = self.options, self.step
        decaying = self.schedule.decay_start is not None and step >= self.schedule.decay_start
        mix: dict[int, float] = options.final_lengths if decaying else options.lengths
        seed = (options.seed + self.restarts * 1009) * 1_000_003 + step
        length = random.Random(seed).choices(list(mix), list(mix.values()))[0]
        generator = torch.Generator(options.device).manual_seed(seed)  # any step can be redone
        for group in self.optimizer.param_groups:
            group["lr"] = self.schedule.rate(step)
        count = max(1, options.batch_tokens // length)
        words, follows = losses(self.encoder, self.train_stream, count, length, generator)
        (words + follows).backward()
        torch.nn.utils.clip_grad_norm_(self.encoder.parameters(), 1.0, foreach=True)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self.tokens += count * length
        return torch.stack([words.detach(), follows.detach()])

    def plan(self, steps_a_second: float) -> None:
        """With a time budget: begin the decay when its share is left, then keep it on time."""
        budget: float | None = self.options.seconds
        if budget is None:
            return
        left = budget - self.elapsed
        steps_left = int(left * steps_a_second)
        if self.schedule.decay_start is None:
            if left <= budget * self.schedule.decay_share:
                self.schedule.decay_from(self.step, steps_left)
                self.say(f"step {self.step}: decaying over {steps_left} steps")
                self.keep()
        elif steps_left > 200:
            self.schedule.decay_from(self.step, steps_left)

    def train(self) -> None:
        options = self.options
        self.encoder.train()
        if self.step == 0:
            self.keep()
        good: dict[str, Any] | None = None
        best = math.inf
        total = torch.zeros(2, device=options.device)
        marked, marked_step = time.monotonic(), self.step
        while self.schedule.end is None or self.step < self.schedule.end:
            total += self.one_step()
            if self.step in KEPT or (self.step > max(KEPT) and self.step % KEPT_EVERY == 0):
                pause = time.monotonic()
                self.keep()
                marked += time.monotonic() - pause
            if self.step % options.log_every:
                continue
            words, follows = (total / options.log_every).tolist()
            total.zero_()
            now = time.monotonic()
            speed = (self.step - marked_step) / (now - marked)
            row = {
                "step": self.step,
                "tokens": self.tokens,
                "seconds": round(self.seconds_before + self.elapsed, 1),
                "word_loss": round(words, 4),
                "next_loss": round(follows, 4),
                "lr": self.schedule.rate(self.step),
                "tokens_a_second": round(speed * options.batch_tokens),
            }
            append(self.out / "log.jsonl", row)
            if self.step <= 4 * options.log_every or self.step % (10 * options.log_every) == 0:
                self.say(json.dumps(row))
            if self.step > 2 * options.log_every:  # the first steps compile
                self.plan(speed)
            if now - marked > 20 or self.step <= 2 * options.log_every:
                marked, marked_step = time.monotonic(), self.step
            # A run that breaks away goes back to its last good state with a lower rate.
            if self.step > options.warmup and not words < best + 0.7 and good is not None:
                self.say(f"step {self.step}: loss {words:.2f} after {best:.2f}; going back")
                elapsed, schedule = self.seconds_before, self.schedule
                self.restore(good)
                self.seconds_before, self.schedule = elapsed, schedule
                self.schedule.peak *= 0.7
                self.restarts += 1
            else:
                best = min(best, words)
                if self.step % (20 * options.log_every) == 0:
                    good = _copy(self.state())
        self.keep()

    def finish(self) -> None:
        """The figures of the final weights as exported: rounded to half precision."""
        options = self.options
        path = self.out / "model.safetensors"
        save_weights(self.encoder, path)
        load_weights(self.encoder, path)
        counts = Counts(self.train_stream.tokens, len(self.vocabulary))
        held = evaluate(
            self.encoder, self.held_out, self.vocabulary, counts,
            tokens=options.eval_tokens * 4, lengths=options.eval_lengths,
        )  # fmt: skip
        surveys = {
            str(length): survey(
                self.encoder, self.held_out, self.vocabulary,
                inputs=max(32, 256 * options.survey_inputs // length),  # as many tokens each
                length=length, shuffles=20,
            )
            for length in options.eval_lengths
        }  # fmt: skip
        results = {
            "shape": asdict(self.encoder.shape),
            "options": {k: v for k, v in vars(options).items() if not isinstance(v, Path)},
            "steps": self.step,
            "tokens": self.tokens,
            "seconds": round(self.seconds_before + self.elapsed, 1),
            "training_tokens_in_corpus": len(self.train_stream.tokens),
            "held_out_tokens_in_corpus": len(self.held_out.tokens),
            "held_out_documents": int(self.held_out.document[-1]) + 1,
            "schedule": asdict(self.schedule),
            "restarts": self.restarts,
            "torch": torch.__version__,
            "held_out": held,
            "patterns": surveys,
        }
        (self.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
        self.say("final, half-precision weights\n" + table(held))
        for length, result in surveys.items():
            self.say(f"heads at {length}: {one_line(result)}")
        self.say("DONE")


def _copy(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {k: _copy(v) for k, v in value.items()}
    return [_copy(v) for v in value] if isinstance(value, list) else value


def main(arguments: list[str] | None = None) -> None:
    run = Run(options_from(arguments))
    run.train()
    run.finish()


if __name__ == "__main__":
    main()
