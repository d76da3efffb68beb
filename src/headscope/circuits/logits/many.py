"""Attribution of many prompts: in batches, averaged, and prompt by prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.circuits.logits.attribution import Floats, PartOfLogit
from headscope.circuits.logits.attributions import Attributions
from headscope.circuits.logits.parts import Added, parts_of
from headscope.circuits.logits.solve import solve
from headscope.circuits.logits.target import Question, Target, answer_labels, question
from headscope.circuits.patching.pairs import Pairs
from headscope.circuits.prompts import END, Prompt, filled, is_table, rows_of
from headscope.circuits.wiring import wiring
from headscope.errors import BadInput
from headscope.runs import ProgressCallback, Run
from headscope.tasks.significance import mean_test
from headscope.text.tokenise import Text

if TYPE_CHECKING:
    from headscope.reading import Scope

AT_ONCE = 32  # prompts run side by side
TOKENS_AT_ONCE = 2048


@dataclass(frozen=True)
class _Asked:
    """A prompt, its second text, and its target."""

    prompt: Prompt
    pair: Text | None
    target: Target
    question: Question


def attribute_many(
    scope: Scope,
    texts: Any,
    pairs: Any,
    target: Any,
    position: int | str | None,
    progress: bool | ProgressCallback,
    seed: int,
) -> Attributions:
    """The attribution of every prompt, and the mean of each part with its interval."""
    every = _asked(scope, texts, pairs, target, position)
    found = wiring(scope)
    names = _shared_names([one.prompt for one in every])
    order = sorted(range(len(every)), key=lambda at: len(every[at].question.query))
    batches = _batches(order, every)
    columns: dict[int, Floats] = {}  # e, by prompt
    by_name: dict[int, Floats] = {}  # heads × names, by prompt
    answers: dict[int, tuple[float, tuple[str, ...]]] = {}
    parts: tuple[PartOfLogit, ...] = ()
    capped = False
    with Run(None, {}, title="Attributing", progress=progress) as run:
        while batches:
            run.tell(len(columns), len(every))
            some = batches.pop(0)
            here = [every[at] for at in some]
            solved = solve(scope, found, [a.question for a in here], [a.target for a in here])
            if len(here) > 1 and not solved.by_example:  # routed experts: one prompt at a time
                batches = [[at] for at in (*some, *(at for rest in batches for at in rest))]
                continue
            added = parts_of(found, solved)
            added.check_sums(scope, solved, [a.question for a in here])
            parts, capped = added.parts, capped or solved.capped
            for row, at in enumerate(some):
                columns[at] = added.values[:, row]
                by_name[at] = _from_positions(added, row, every[at], names)
                labels = answer_labels(scope, every[at].question, solved.ids[row])
                answers[at] = float(solved.answer[row].detach()), labels
        run.tell(len(every), len(every))
    numbers = range(len(every))
    values = np.stack([columns[at] for at in numbers], axis=1)
    whole = np.array([answers[at][0] for at in numbers])
    speaks = every[0].question.output_layer is not None
    return Attributions(
        model=scope.name,
        prompts=tuple(one.question.query.texts[0] for one in every),
        target=tuple(answers[at][1] for at in numbers),
        position=tuple(one.question.position for one in every),
        value=whole,
        parts=parts,
        values=values,
        unexplained=whole - values.sum(0),
        names=names,
        from_positions=np.stack([by_name[at] for at in numbers], axis=2),
        intervals=mean_test(values, seed=seed, unit="prompts"),
        note=held_fixed(speaks, "decoder" in scope.kinds, capped),
    )


def _batches(order: list[int], every: Sequence[_Asked]) -> list[list[int]]:
    """Numbers of prompts, shortest first, so that little is padded."""
    found: list[list[int]] = []
    for at in order:
        length = len(every[at].question.query)
        full = not found or len(found[-1]) == AT_ONCE
        if full or (len(found[-1]) + 1) * length > TOKENS_AT_ONCE:
            found.append([])
        found[-1].append(at)
    return found


def _from_positions(added: Added, row: int, asked: _Asked, names: tuple[str, ...]) -> Floats:
    """heads × names: what each head took from the named positions; NaN if unknown."""
    heads = [one for one in added.parts if one.part == "head"]
    found = np.full((len(heads), len(names)), np.nan)
    at = [_named(asked, name) for name in names]
    for number, one in enumerate(heads):
        edges = added.edges.get(f"{one.kind}.{one.layer}")
        if edges is not None and one.kind != "cross":
            found[number] = edges[row, one.head or 0].sum(0)[at]
    return found


def _named(asked: _Asked, name: str) -> int:
    if name == END:
        return asked.question.position or 0
    return asked.prompt.position(name, asked.question.query)


def _shared_names(prompts: Sequence[Prompt]) -> tuple[str, ...]:
    """The names of positions that every prompt has."""
    return tuple(name for name in prompts[0].names if all(name in one.names for one in prompts))


def _asked(
    scope: Scope, texts: Any, pairs: Any, target: Any, position: int | str | None
) -> list[_Asked]:
    prompts, targets = _prompts(texts, target)
    if not prompts:
        raise BadInput("There is no prompt; give at least one.")
    seconds = [None] * len(prompts) if pairs is None else pairs
    if isinstance(seconds, str) or len(seconds) != len(prompts):
        raise BadInput(
            f"There are {len(prompts)} prompts; give text_pair as a list of {len(prompts)} texts."
        )
    made: list[_Asked] = []
    for prompt, second, own in zip(prompts, seconds, targets, strict=True):
        asked = question(scope, prompt.text, second, None if position == END else _number(position))
        if isinstance(position, str) and position != END:
            named = prompt.position(position, asked.query)
            asked = question(scope, prompt.text, second, named)
        made.append(_Asked(prompt, second, own, asked))
    return made


def _number(position: int | str | None) -> int | None:
    return None if isinstance(position, str) else position


def _prompts(texts: Any, target: Any) -> tuple[list[Prompt], list[Target]]:
    """Prompts with their targets."""
    if isinstance(texts, Pairs):
        prompts = [one.prompt("clean") for one in texts.pairs]
        own = [
            (one.answer,) if one.wrong is None else (one.answer, one.wrong) for one in texts.pairs
        ]
        return prompts, _each(target, len(prompts)) if target is not None else list(own)
    if not is_table(texts):
        wrong = [one for one in texts if not isinstance(one, str | list | tuple)]
        if wrong:
            raise BadInput(f"A prompt is a text or a list of words, not {wrong[0]!r}.")
        return [Prompt(one) for one in texts], _each(target, len(texts))
    rows = rows_of(texts)
    column = "prompt" if "prompt" in rows[0] else "clean"
    if column not in rows[0]:
        raise BadInput(
            f"The table has no column 'prompt' (it has {', '.join(map(str, rows[0]))}); "
            "rename the column of texts to 'prompt'."
        )
    prompts = [filled(row, column) for row in rows]
    if target is None and "answer" in rows[0]:
        target = ("answer", "wrong") if "wrong" in rows[0] else "answer"
    named = (target,) if isinstance(target, str) else target
    if isinstance(named, tuple) and all(name in rows[0] for name in named):
        return prompts, [tuple(row[name] for name in named) for row in rows]
    return prompts, _each(target, len(rows))


def _each(target: Any, count: int) -> list[Target]:
    """One target for all, or a list with one each."""
    if not isinstance(target, list):
        return [target] * count
    if len(target) != count:  # pyright: ignore[reportUnknownArgumentType]
        raise BadInput(
            f"There are {count} prompts and {len(target)} targets; give one per prompt, "
            "or one for all: a token, or a tuple of two tokens to compare."
        )
    return target  # pyright: ignore[reportUnknownVariableType]


def held_fixed(words: bool, decoder: bool, capped: bool) -> str:
    said = "Norms are held at the scale they had on this text."
    if capped:
        said += " The logit is taken before the soft-cap."
    if not words or not decoder:
        said += (
            " Bends between the last layer and the output are taken as straight here; what "
            "that misses is shown as unexplained."
        )
    return said
