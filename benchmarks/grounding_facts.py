"""How often each way of grounding is right, on invented facts that a real model answers.

    python benchmarks/grounding_facts.py [MODEL] [--records FILE.jsonl] [--plain 100] [--hard 20]

A question is kept if the model answers it right with its documents and wrong without them. For
each kept one: does the true document come first by every method, how does each method rank all
documents against exact ablation, and is the answer called *not supported* when its document is
taken away? Head weights are fitted, and the verdict was chosen, on questions of other seeds. Rows
go to FILE.jsonl as they are made: a stopped run resumes, and --table prints what is there.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import pad

import headscope as hs
from benchmarks._models import smollm2
from headscope.grounding.facts import KINDS, Fact, Hard, facts
from headscope.grounding.logit import logit_by_source, sum_of_heads
from headscope.grounding.mass import HeadMass
from headscope.grounding.passes import AnswerPasses
from headscope.grounding.prompts import prompt_of
from headscope.grounding.sources import sources_of, without
from headscope.grounding.support import copied, least_expected, shuffled, verdict
from headscope.reading.inputs.conversation import encoded, rendered_for

SEED = 2000  # of the questions asked; weights are fitted on 0, and the verdict was chosen on 1000
SHUFFLES = 3  # as many as hs.ground makes, of which the largest counts
DOCUMENTS = 5  # at most
TRIED = 4  # questions tried for each that is wanted, at most
NEW_TOKENS = 24
AT_ONCE = 16  # questions asked in one batch
METHODS = ("exact", "learned", "logit", "norm", "attention")


@dataclass(frozen=True)
class Row:
    """One question; what was measured is empty where it was not kept."""

    kind: str
    number: int
    kept: bool
    true: list[int] = field(default_factory=list)
    scores: dict[str, list[float]] = field(default_factory=dict)  # by method, source by source
    mass: list[Any] = field(default_factory=list)  # layer × head × source, for head weights
    tokens: int = 0  # of the answer, whose log-probabilities follow
    read: float = 0.0  # with the documents
    bare: float = 0.0  # without any
    chance: float = 0.0  # with shuffled ones, the most of several shuffles
    gone: float = 0.0  # without the true ones
    gone_chance: float = 0.0  # with the others shuffled
    least: float = 1.0  # share of surprise that the least expected of their words loses
    gone_least: float = 1.0  # so with the others

    def first(self, method: str) -> bool:
        return int(np.argmax(self.scores[method])) in self.true

    def rank(self, method: str) -> float:
        from scipy.stats import spearmanr

        one, two = self.scores[method], self.scores["exact"]
        if len(one) < 2 or np.ptp(one) == 0 or np.ptp(two) == 0:
            return float("nan")
        return float(spearmanr(one, two).statistic)

    def refused(self, gone: bool = False) -> bool:
        """Whether the verdict is *not supported*."""
        read, chance = (self.gone, self.gone_chance) if gone else (self.read, self.chance)
        return verdict(
            read - self.bare, chance - self.bare, self.bare, self.tokens, np.array([np.nan]), (),
            least=self.gone_least if gone else self.least,
        )[0] == "not supported"  # fmt: skip


def asked(kind: Hard) -> Iterator[Fact]:
    """Questions of one kind, without end."""
    yield from facts(10_000, (kind,), SEED, most=DOCUMENTS)


def measured(scope: hs.Scope, fact: Fact, number: int) -> Row:
    """One kept question by every method."""
    documents = [("", text) for text in fact.documents]
    sources = sources_of(documents)
    names = [one.name for one in sources]
    prompt = prompt_of(scope, fact.question, documents, fact.answer)
    mass = HeadMass(scope, prompt.predicting, prompt.members(names))
    passes = AnswerPasses(scope, prompt, mass)
    left = without(documents, [sources[at] for at in fact.true])
    chance = random.Random(number)
    every = [without(documents, [one]) for one in sources]
    every += [
        shuffled(scope.tokenizer, given, chance)
        for given in (documents, left)
        for _ in range(SHUFFLES)
    ]
    every += [[], left]
    by_token = passes.of([prompt_of(scope, fact.question, one, fact.answer) for one in every])
    found, count = by_token.sum(1), len(sources)
    read = float(passes.log_probabilities.sum())
    logit = logit_by_source(scope, prompt, names)
    assert logit is not None and mass.norm is not None
    scores = {
        "exact": read - found[:count],
        "logit": sum_of_heads(logit).mean(0),
        "norm": mass.norm.mean((0, 1, 2)),
        "attention": mass.attention.mean((0, 1, 2)),
    }
    by_chance, gone_chance = map(float, found[count:-2].reshape(2, SHUFFLES).max(1))
    bare, gone = map(float, found[-2:])
    least, gone_least = (
        least_expected(tokens, by_token[-2], copied(prompt, np.arange(prompt.said), given))
        for tokens, given in ((passes.log_probabilities, documents), (by_token[-1], left))
    )
    return Row(
        fact.kind, number, True, list(fact.true),
        {name: [float(one) for one in values] for name, values in scores.items()},
        mass.attention.mean(2).astype(float).round(6).tolist(), prompt.said,
        read, bare, by_chance, gone, gone_chance, least, gone_least,
    )  # fmt: skip


def kept(scope: hs.Scope, some: Sequence[Fact]) -> list[bool]:
    """Which are answered right with their documents and wrong without them.

    A wrong answer is given, not generated, so none of that kind is dropped.
    """
    if some[0].kind == "wrong":
        return [True] * len(some)
    right = [one.word in said for one, said in zip(some, answers(scope, some), strict=True)]
    left = [one for one, known in zip(some, right, strict=True) if known]
    bare = iter(answers(scope, left, documents=False) if left else ())
    return [known and one.word not in next(bare) for one, known in zip(some, right, strict=True)]


def answers(scope: hs.Scope, some: Sequence[Fact], documents: bool = True) -> list[str]:
    """What the model writes, question by question, in one batch."""
    prompts = [
        rendered_for(scope, one.question, list(one.documents) if documents else ()) for one in some
    ]
    ids = [encoded(scope, one).inputs["input_ids"][0] for one in prompts]
    longest = max(map(len, ids))
    given = torch.stack([pad(one, (longest - len(one), 0)) for one in ids])
    mask = torch.stack([pad(torch.ones_like(one), (longest - len(one), 0)) for one in ids])
    with torch.no_grad():
        whole = scope.model.generate(
            input_ids=given, attention_mask=mask, do_sample=False, max_new_tokens=NEW_TOKENS,
            pad_token_id=scope.tokenizer.eos_token_id,
        )  # fmt: skip
    return scope.tokenizer.batch_decode(whole[:, longest:], skip_special_tokens=True)


def run(
    scope: hs.Scope,
    records: Path,
    wanted: dict[Hard, int],
    seconds: float = float("inf"),
    say: Callable[[str], None] = print,
) -> list[Row]:
    """Ask until there are as many kept questions of each kind as wanted, or the time is over."""
    begun = time.monotonic()
    rows = rows_of(records)
    for kind, count in wanted.items():
        own = [row for row in rows if row.kind == kind]
        left = list(islice(asked(kind), len(own), TRIED * count))
        for some in (left[at : at + AT_ONCE] for at in range(0, len(left), AT_ONCE)):
            if enough(own, count) or time.monotonic() - begun > seconds:
                break
            for fact, keep in zip(some, kept(scope, some), strict=True):
                if enough(own, count):
                    break
                number = len(own)
                own.append(measured(scope, fact, number) if keep else Row(kind, number, False))
                with records.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(own[-1])) + "\n")
        rows = [row for row in rows if row.kind != kind] + own
        say(f"{kind}: {sum(row.kept for row in own)} of {len(own)} kept")
    return rows


def enough(rows: Sequence[Row], count: int) -> bool:
    return sum(row.kept for row in rows) >= count


def fitted(scope: hs.Scope, records: Path) -> hs.HeadWeights:
    """Head weights from questions of another seed, kept beside the records."""
    path = records.with_suffix(".weights.json")
    if not path.is_file():
        hs.fit_head_weights(scope, progress=False).save(path)
    weights = hs.HeadWeights.load(path)
    weights.check(scope)
    return weights


def rows_of(records: Path) -> list[Row]:
    """What was recorded, with the learned score where head weights lie beside it."""
    if not records.is_file():
        return []
    rows = [Row(**json.loads(line)) for line in records.read_text("utf-8").splitlines()]
    path = records.with_suffix(".weights.json")
    if path.is_file():
        weights = hs.HeadWeights.load(path)
        for row in rows:
            if row.kept:
                row.scores["learned"] = weights.score(np.array(row.mass)).tolist()
    return rows


def tables(rows: Sequence[Row]) -> str:
    """Tables in Markdown: the true document first, rank correlations, and verdicts."""
    kept = [row for row in rows if row.kept]
    kinds = [kind for kind in KINDS if any(row.kind == kind for row in kept)]
    of = {kind: [row for row in kept if row.kind == kind] for kind in kinds}
    first, ranks = [_head("true document first")], [_head("rank correlation with exact")]
    for kind in kinds:
        tried = sum(row.kind == kind for row in rows)
        counts = [str(sum(row.first(name) for row in of[kind])) for name in METHODS]
        first.append(_line([kind, f"{len(of[kind])} of {tried}", *counts]))
        shown = [_interval([row.rank(name) for row in of[kind]]) for name in METHODS]
        ranks.append(_line([kind, str(len(of[kind])), *shown]))
    verdicts = [
        _line(["*not supported* said of", "questions", "document taken away", "document there"]),
        _line(["---"] * 4),
    ]
    for kind in kinds:
        counts = [sum(row.refused(gone) for row in of[kind]) for gone in (True, False)]
        verdicts.append(_line([kind, str(len(of[kind])), *map(str, counts)]))
    return "\n\n".join("\n".join(one) for one in (first, ranks, verdicts))


def _head(title: str) -> str:
    return "\n".join([_line([title, "kept", *METHODS]), _line(["---"] * (2 + len(METHODS)))])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _interval(values: Sequence[float]) -> str:
    """The mean with its 95 % interval, by resampling questions."""
    known = np.array([value for value in values if np.isfinite(value)])
    draws = np.random.default_rng(0).choice(known, (2000, len(known))).mean(1)
    low, high = np.percentile(draws, (2.5, 97.5))
    return f"{known.mean():.2f} [{low:.2f}, {high:.2f}]"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model", nargs="?", help="SmolLM2-135M-Instruct if left out")
    options.add_argument("--records", type=Path, default=Path("build/grounding-facts.jsonl"))
    options.add_argument("--plain", type=int, default=100)
    options.add_argument("--hard", type=int, default=20)
    options.add_argument("--seconds", type=float, default=float("inf"), help="then stop")
    options.add_argument("--table", action="store_true", help="only print what is recorded")
    given = options.parse_args()
    given.records.parent.mkdir(parents=True, exist_ok=True)
    if not given.table:
        scope = hs.load(given.model or smollm2())
        wanted: dict[Hard, int] = dict.fromkeys(KINDS[1:], given.hard)
        fitted(scope, given.records)
        run(scope, given.records, {"plain": given.plain, **wanted}, given.seconds)
    print(tables(rows_of(given.records)))


if __name__ == "__main__":
    main()
