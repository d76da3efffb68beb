"""Emphasis measured: its effect on a wanted answer, and the heads it works through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.arguments import need_count, need_real, need_scope, need_seed
from headscope.edits.answers import OneLayer, answer, answer_each
from headscope.edits.emphasise import Stretch, positions_of
from headscope.errors import BadInput
from headscope.files import check_table
from headscope.models.loading_report import check_weights
from headscope.reading.predict import Prediction
from headscope.results import HeadResult, tidy
from headscope.runs import ProgressCallback, Run, State, fingerprint, scope_identity
from headscope.statistics.significance import mean_interval
from headscope.tasks.metrics import METRICS
from headscope.tasks.questions import Questions, token_answers, token_losses
from headscope.tasks.significance import mean_test

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope

__all__ = ["Effect", "EmphasisHeads", "Example", "choose", "effect"]

Floats = NDArray[np.float64]
Head = tuple[int, int]


class Example(NamedTuple):
    """A text, the part of it that matters, and the answer that should follow."""

    text: str
    span: Stretch
    answer: str


@dataclass(frozen=True)
class Effect:
    """Before and after: the answer's log-probability, and the likeliest next tokens."""

    before: float | None  # nats, of the whole answer; None without an answer
    after: float | None
    predictions_before: tuple[Prediction, ...]
    predictions_after: tuple[Prediction, ...]


def effect(
    scope: Scope,
    text: str,
    span: Stretch,
    *,
    answer: str | None = None,
    heads: Sequence[Head] | None = None,
    factor: float = 4.0,
    n: int = 5,
) -> Effect:
    """A model's answer with and without a span emphasised.

    Parameters
    ----------
    scope
        A decoder.
    text
        What it reads.
    span
        A part of the text, a span of a reading, or tokens as (start, stop).
    answer
        What should follow the text.
    heads
        Heads as (layer, head); all of them if left out.
    factor
        What their weights on the span are multiplied with.
    n
        How many next tokens to name.

    Returns
    -------
    Effect
        The answer's log-probability and the likeliest next tokens, before and after.

    Examples
    --------
    >>> text = "Answer in French. What is red?"
    >>> found = hs.emphasis.effect(scope, text, "in French", answer="Rouge")  # doctest: +SKIP
    >>> found.after - found.before  # doctest: +SKIP
    0.41
    """
    emphasised = _emphasised(scope, Example(text, span, ""), heads, factor)
    said: list[float | None] = [None, None]
    if answer is not None:
        said = [log_probability(one, text, answer) for one in (scope, emphasised)]
    return Effect(
        said[0],
        said[1],
        tuple(scope.next_token(text, n)),
        tuple(emphasised.next_token(text, n)),
    )


@dataclass(frozen=True, eq=False, repr=False)
class EmphasisHeads(HeadResult):
    """Heads through which emphasis raises wanted answers, with their gain on other examples.

    `table` has the measure `gain`: nats that the answer's log-probability rises by when this head
    alone is emphasised. `held_out` has a row per set of heads on the examples that did not choose.
    """

    model: str
    factor: float
    examples: int
    chosen: tuple[Head, ...]
    table: pd.DataFrame  # pyright: ignore[reportIncompatibleMethodOverride]
    held_out: pd.DataFrame

    holds: ClassVar[tuple[type, ...]] = ()

    @property
    def title(self) -> str:
        return f"Emphasis by a factor of {self.factor:g}, head by head, {self.model}"

    @property
    def beats_random(self) -> bool:
        """Whether the chosen heads gain more on held-out examples than every random set."""
        rows: Any = self.held_out
        drawn = rows[rows["heads"] == "random"]["gain"]
        best = float(rows[rows["heads"] == "chosen"]["gain"].iloc[0])
        return bool(len(drawn)) and best > float(drawn.max())

    @property
    def verdict(self) -> str:
        """Whether the chosen heads do better than random ones, in a sentence."""
        rows: Any = self.held_out
        drawn = rows[rows["heads"] == "random"]["gain"]
        best = rows[rows["heads"] == "chosen"].iloc[0]
        at_least = int((drawn >= best["gain"]).sum())
        return (
            f"On {int(best['examples'])} held-out examples the chosen heads gain "
            f"{best['gain']:+.3f} nats; {at_least} of {len(drawn)} random sets gain as much or more"
            f" (mean {drawn.mean():+.3f}), so they {'beat' if self.beats_random else 'do not beat'}"
            " random heads."
        )


def choose(
    scope: Scope,
    examples: Sequence[Example | tuple[str, Stretch, str]],
    *,
    factor: float = 4.0,
    n: int = 8,
    draws: int = 20,
    seed: int = 0,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> EmphasisHeads:
    """Choose the heads through which emphasis raises the answers you want.

    Each head alone is emphasised on every other example, exactly. The n heads that gain most are
    then emphasised together on the others, beside random sets of as many heads.

    Parameters
    ----------
    scope
        A decoder.
    examples
        (text, span, answer) each: the span is a part of the text, or tokens as (start, stop).
    factor
        The factor of weights on the span.
    n
        How many heads are chosen.
    draws
        How many random sets they are compared with.
    seed
        Seed of the draws.
    limit
        How many examples at most.
    output
        File for the result (.parquet); a stopped run resumes from the checkpoint beside it.
    restart
        Whether to discard a stopped run's checkpoint.
    progress
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    EmphasisHeads
        `chosen` goes to `scope.emphasise(span, heads=…)`.

    Examples
    --------
    >>> examples = [("Answer in French. What is red?", "in French", "Rouge"), ...]
    >>> found = hs.emphasis.choose(scope, examples)  # doctest: +SKIP
    >>> found.verdict  # doctest: +SKIP
    """
    need_scope(scope)
    need_seed(seed)
    need_count(n, "n")
    need_real(factor, "factor")
    if not scope.causal:
        raise BadInput(f"An answer follows a text; {scope.name} does not continue text.")
    if output is not None:
        check_table(output, "A choice of heads")
    check_weights(scope.model, scope.name)
    given = [Example(*one) for one in examples][:limit]
    if len(given) < 4:
        raise BadInput(f"Choosing heads takes 4 examples or more, not {len(given)}.")
    kind = "decoder"
    every = [(a, b) for a in scope.layer_numbers[kind] for b in range(scope.heads[kind])]
    if n >= len(every):
        raise BadInput(f"{scope.name} has {len(every)} heads; choose fewer than all, not {n}.")
    identity = {
        **scope_identity(scope),
        "examples": fingerprint([list(map(str, one)) for one in given]),
        "settings": [factor, n, draws, seed],
    }
    with Run(output, identity, title="Choosing heads", restart=restart, progress=progress) as run:
        gains = _gains_alone(scope, given[::2], every, factor, run)
        mean = gains.mean(0)
        chosen = tuple(every[at] for at in np.argsort(-mean, kind="stable")[:n])
        rows = _held_out(scope, given[1::2], every, chosen, factor, draws, seed, run)
        found = _result(scope.name, factor, len(given), every, gains, chosen, rows)
        if output is not None:
            found.save(output)
    return found


def _gains_alone(
    scope: Scope, examples: Sequence[Example], every: Sequence[Head], factor: float, run: Run
) -> Floats:
    """example × head: nats that an answer gains with one head emphasised."""
    part = run.part("alone")
    state = part.recall()
    gains = np.zeros((0, len(every))) if state is None else state.arrays["gains"]
    edits = [OneLayer(layer, (head,)) for layer, head in every]

    def now() -> State:
        return State({}, {"gains": gains})

    for number in range(len(gains), len(examples)):
        run.tell(number, len(examples), title="Emphasising each head")
        example = examples[number]
        swept = answer_each(
            scope, _question(scope, example), edits, mode="emphasis", kind="decoder",
            weights=(positions_of(scope, example.span, example.text), factor),
        )  # fmt: skip
        gained = swept.baseline[0, 0] - swept.edited[:, 0, 0]
        with part.step(now):
            gains = np.concatenate([gains, gained[None]])
    return gains


def _held_out(
    scope: Scope,
    examples: Sequence[Example],
    every: Sequence[Head],
    chosen: Sequence[Head],
    factor: float,
    draws: int,
    seed: int,
    run: Run,
) -> list[dict[str, Any]]:
    luck = np.random.default_rng(seed)
    sets: list[tuple[str, Sequence[Head] | None]] = [("chosen", chosen), ("all", None)]
    for _ in range(draws):
        sets.append(
            ("random", [every[at] for at in luck.choice(len(every), len(chosen), replace=False)])
        )
    asked = [_question(scope, example) for example in examples]
    before = np.array([_answered(scope, one)[0] for one in asked])
    rows: list[dict[str, Any]] = []
    for name, heads in run.track(sets, "Held-out examples"):
        after = np.array(
            [
                _answered(_emphasised(scope, one, heads, factor), question)[0]
                for one, question in zip(examples, asked, strict=True)
            ]
        )
        gain = before - after
        low, high = mean_interval(gain)
        rows.append(
            {
                "heads": name,
                "examples": len(gain),
                "gain": float(gain.mean()),
                "low": float(low),
                "high": float(high),
            }
        )
    return rows


def _emphasised(
    scope: Scope, example: Example, heads: Sequence[Head] | None, factor: float
) -> Scope:
    """The scope with the span's tokens emphasised, counted as `scope.read(text)` reads them."""
    at = positions_of(scope, example.span, example.text)
    return scope.emphasise((at[0], at[-1] + 1), heads=heads, factor=factor)


def _result(
    model: str,
    factor: float,
    examples: int,
    every: Sequence[Head],
    gains: Floats,
    chosen: tuple[Head, ...],
    rows: list[dict[str, Any]],
) -> EmphasisHeads:
    import pandas as pd

    tested = mean_test(gains.T)
    frame = pd.DataFrame(
        {
            "layer": [layer for layer, _ in every],
            "head": [head for _, head in every],
            "value": tested.difference,
            "low": tested.low,
            "high": tested.high,
            "p_holm": tested.p_holm,
        }
    )
    table = tidy(frame, kind="decoder", measure="gain", count=len(gains))
    return EmphasisHeads(model, factor, examples, chosen, table, pd.DataFrame(rows))


def log_probability(scope: Scope, text: str, answer: str) -> float:
    """Of the whole answer behind the text, in nats."""
    if not scope.causal or scope.encoder_decoder:
        raise BadInput(f"An answer follows a text; {scope.name} does not continue text.")
    return -float(_answered(scope, _question(scope, Example(text, (0, 1), answer)))[0])


def _question(scope: Scope, example: Example) -> Questions:
    """The loss of the answer behind the text."""
    text, wanted = example.text, example.answer
    if not text[-1:].isspace() and not wanted[:1].isspace():
        wanted = f" {wanted}"
    begun = scope.encode([text]).inputs["input_ids"][0]
    ids = scope.tokenizer(wanted, add_special_tokens=False)["input_ids"]
    if not ids:
        raise BadInput("The answer holds no token; give a word or more.")
    follows = torch.tensor(ids, device=begun.device)
    whole = torch.cat([begun, follows])[None]
    targets = torch.full_like(whole, -100)
    targets[0, len(begun) - 1 : -1] = follows
    inputs: dict[str, Tensor] = {"input_ids": whole, "attention_mask": torch.ones_like(whole)}
    return Questions(
        "answer", ((inputs, targets),), token_answers, token_losses, np.zeros(1), METRICS["loss"]
    )


def _answered(scope: Scope, question: Questions) -> Floats:
    """2: the answer's loss, and its number of tokens."""
    return answer(scope, question)[0]
