"""`hs.ground`: which part of the context made an answer, which heads carried it, and support."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.arguments import is_whole, need_count, need_kind, need_scope
from headscope.errors import BadInput
from headscope.grounding.knockout import Head, cut_heads
from headscope.grounding.learned import HeadWeights
from headscope.grounding.logit import logit_by_source, sum_of_heads
from headscope.grounding.mass import HeadMass
from headscope.grounding.passes import AnswerPasses
from headscope.grounding.prompts import Prompt, prompt_of
from headscope.grounding.result import WHOLE, Grounding
from headscope.grounding.sources import By, Source, Titled, sources_of, without
from headscope.grounding.subsets import subset_scores
from headscope.grounding.support import shuffled, supported
from headscope.reading.inputs.conversation import Documents, Messages, encoded, rendered_for
from headscope.reading.inputs.generation import written_ids
from headscope.results import tidy
from headscope.runs.run import Progress, ProgressCallback, showing
from headscope.text.chat import checked_messages, titled

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope

Floats = NDArray[np.float64]
Exact = int | Literal["auto", "all"]
FEW = 16  # up to this many sources, each is ablated
CHECKED = 3  # ablated sources if there are more: the first by the cheap score


def ground(
    scope: Scope,
    messages: Messages,
    documents: Documents = (),
    answer: str | None = None,
    *,
    by: By = "document",
    exact: Exact = "auto",
    passes: int | None = None,
    weights: HeadWeights | str | Path | None = None,
    most_heads: int = 8,
    shuffles: int = 3,
    max_new_tokens: int = 64,
    seed: int = 0,
    progress: bool | ProgressCallback = True,
) -> Grounding:
    """Measure what an answer took from which document, paragraph or sentence.

    Parameters
    ----------
    scope
        A decoder.
    messages
        A conversation, or one question.
    documents
        Texts, `{"title": …, "text": …}`, or titles with texts.
    answer
        The answer; the model writes it if left out.
    by
        "document", "paragraph", "sentence", or names of such spans.
    exact
        How many sources to ablate, one at a time: "all", or the first few by the cheap score.
        "auto" ablates all of 16 or fewer, else the first three.
    passes
        A budget of passes for many sources. It ablates each of them if it suffices; else it goes
        to random subsets, and a Lasso is fitted to them.
    weights
        Head weights of this model, or their JSON file: the best cheap score.
    most_heads
        The most heads to cut off from the most important source; 0 skips this.
    shuffles
        How many times the letters of the documents' words are shuffled, to see what chance would
        support.
    max_new_tokens
        The longest answer that the model writes.
    seed
        Seed of subsets and shuffles.
    progress
        Whether to show a bar, or a function that is called instead.

    Returns
    -------
    Grounding
        Scores of all sources, verdicts by sentence, and heads.

    Examples
    --------
    >>> documents = ["Mirel was born in Vornheim.", "Juno was born in Quessel."]
    >>> found = hs.ground(scope, "Where was Juno born?", documents)  # doctest: +SKIP
    >>> print(found)  # doctest: +SKIP
    Juno was born in Quessel.  →  taken from document 2
    """
    need_scope(scope)
    need_count(passes, "passes")
    said, given = checked_messages(messages), titled(documents)
    if not given:
        raise BadInput("Give the documents that the answer may have been taken from.")
    sources = sources_of(given, by)
    if isinstance(weights, (str, Path)):
        weights = HeadWeights.load(weights)
    if weights is not None:
        need_kind(weights, HeadWeights, "weights=", "head weights, or the path of their file")
        weights.check(scope)
    notes: list[str] = []
    if answer is None:
        answer = _answered(scope, said, given, max_new_tokens)
        notes.append(f"{scope.name} wrote the answer.")
    asked = _Asked(scope, said, given, answer, sources)
    with showing(progress) as show:
        return _grounded(
            asked, exact, passes, weights, most_heads, shuffles, int(seed), tuple(notes), show
        )


@dataclass(frozen=True, eq=False)
class _Asked:
    """A conversation whose documents can be replaced."""

    scope: Scope
    messages: list[dict[str, Any]]
    documents: list[Titled]
    answer: str
    sources: list[Source]

    def prompt(self, documents: Sequence[Titled]) -> Prompt:
        return prompt_of(self.scope, self.messages, documents, self.answer)

    def without(self, taken: Sequence[int]) -> Prompt:
        return self.prompt(without(self.documents, [self.sources[at] for at in taken]))


@dataclass(frozen=True, eq=False)
class _Scored:
    """Sentences × sources, the whole answer first; NaN: not measured."""

    value: Floats
    low: Floats | None = None
    high: Floats | None = None


def _grounded(
    asked: _Asked,
    exact: Exact,
    passes: int | None,
    weights: HeadWeights | None,
    most_heads: int,
    shuffles: int,
    seed: int,
    notes: tuple[str, ...],
    show: ProgressCallback,
) -> Grounding:
    scope, given, sources = asked.scope, asked.documents, asked.sources
    drawn = 0
    if passes is not None and exact == "auto" and passes >= len(sources):
        exact = "all"
    elif passes is not None:
        drawn = passes
    ablated = len(_chosen(exact, np.zeros(len(sources)), len(sources)))
    done, total = 0, 2 + drawn + ablated + 1 + shuffles + min(1, most_heads)

    def tell(count: int) -> None:
        nonlocal done
        done += count
        show(Progress(done, total, title="Grounding"))

    tell(0)
    prompt = asked.prompt(given)
    names = [one.name for one in sources]
    mass = HeadMass(scope, prompt.predicting, prompt.members(names), ids=prompt.ids)
    run = AnswerPasses(scope, prompt, mass, tell)
    groups = _sentences(prompt)
    logit = logit_by_source(scope, prompt, names)
    tell(1)
    found = _cheap(mass, logit, weights, groups)
    cheap = next(name for name in ("learned", "logit", "norm", "attention") if name in found)
    if drawn:
        found["subsets"] = _estimated(asked, run, groups, drawn, seed)
        cheap = "subsets"
    chosen = _chosen(exact, found[cheap].value[0], len(sources))
    found["exact"] = _exact(asked, run, groups, chosen, len(sources))
    lost = found["exact"].value[0]
    source = int(np.nanargmax(lost) if chosen else np.argmax(found[cheap].value[0]))
    support = supported(
        run,
        groups,
        sources,
        found["exact"].value,
        asked.prompt([]),
        [
            asked.prompt(shuffled(scope.tokenizer, given, random.Random(seed + n)))
            for n in range(shuffles)
        ],
        given,
    )
    table, together = _heads(run, mass, logit, sources[source], source, most_heads)
    tell(min(1, most_heads))
    return Grounding(
        model=scope.name,
        messages=tuple({k: str(v) for k, v in one.items()} for one in asked.messages),
        titles=tuple(title for title, _ in given),
        documents=tuple(text for _, text in given),
        answer=asked.answer,
        sentences=_characters(prompt),
        sources=tuple(sources),
        scores=_frame(found, sources),
        support=support,
        table=table,
        together=together,
        notes=notes,
    )


def _answered(
    scope: Scope, messages: list[dict[str, Any]], documents: list[Titled], tokens: int
) -> str:
    given = [{"title": title, "text": text} for title, text in documents]
    rendered = rendered_for(scope, messages, given)
    batch = encoded(scope, rendered)
    whole = written_ids(scope, batch, tokens, {})[0, len(batch.tokens[0]) :]
    said = str(scope.tokenizer.decode(whole, skip_special_tokens=True)).strip()
    if not said:
        raise BadInput(
            f"{scope.name} generated an empty answer; pass answer=… to explain a given one."
        )
    return said


def _sentences(prompt: Prompt) -> list[NDArray[np.intp]]:
    """The answer's tokens, and those of each of its sentences."""
    return [np.arange(prompt.said), *prompt.sentences()]


def _characters(prompt: Prompt) -> tuple[tuple[int, int], ...]:
    whole = next(span for span in prompt.spans if span.of == "answer")
    return tuple(
        (span.start - whole.start, span.stop - whole.start)
        for span in prompt.spans
        if span.parent == "answer" and span.of == "sentence"
    )


def _cheap(
    mass: HeadMass,
    logit: Mapping[int, Floats] | None,
    weights: HeadWeights | None,
    groups: Sequence[NDArray[np.intp]],
) -> dict[str, _Scored]:
    """Scores from one pass: means over the tokens of each sentence."""

    def by_sentence(values: NDArray[np.floating]) -> _Scored:  # token × source
        return _Scored(np.stack([values[at].mean(0) for at in groups]).astype(float))

    found = {"attention": by_sentence(mass.attention.mean((0, 1)))}
    if mass.norm is not None:
        found["norm"] = by_sentence(mass.norm.mean((0, 1)))
    if logit is not None:
        found["logit"] = by_sentence(sum_of_heads(logit))
    if weights is not None:
        found["learned"] = by_sentence(weights.score(mass.attention))
    return found


def _chosen(exact: Exact, ranked: Floats, count: int) -> list[int]:
    """The numbers of the sources to ablate."""
    if exact == "all" or (exact == "auto" and count <= FEW):
        return list(range(count))
    if exact != "auto" and (not is_whole(exact) or exact < 0):
        raise BadInput(
            f"exact= is 'auto', 'all' or the number of sources to remove, not {exact!r}."
        )
    first = CHECKED if exact == "auto" else int(exact)
    return sorted(int(at) for at in np.argsort(-ranked)[:first])


def _exact(
    asked: _Asked,
    run: AnswerPasses,
    groups: Sequence[NDArray[np.intp]],
    chosen: Sequence[int],
    count: int,
) -> _Scored:
    value = np.full((len(groups), count), np.nan)
    if chosen:
        lost = run.log_probabilities - run.of([asked.without([at]) for at in chosen])
        value[:, list(chosen)] = np.stack([lost[:, at].sum(1) for at in groups])
    return _Scored(value)


def _estimated(
    asked: _Asked, run: AnswerPasses, groups: Sequence[NDArray[np.intp]], passes: int, seed: int
) -> _Scored:
    def after(kept: NDArray[np.bool_]) -> Floats:
        prompts = [asked.without(np.flatnonzero(~row).tolist()) for row in kept]
        said = run.of(prompts)
        return np.stack([said[:, at].sum(1) for at in groups], 1)

    found = subset_scores(len(asked.sources), passes, after, seed)
    return _Scored(found.value, found.low, found.high)


def _heads(
    run: AnswerPasses,
    mass: HeadMass,
    logit: Mapping[int, Floats] | None,
    source: Source,
    at: int,
    count: int,
) -> tuple[pd.DataFrame, float | None]:
    """Every head's attention to the most important source, and for some heads the cost of cutting
    it.

    Heads are chosen by what they move from there into the answer's logits, or by their attention.
    """
    import pandas as pd

    shares, copied = (given[..., at].mean(2) for given in (mass.attention, mass.copied))
    layers, proposed = mass.layers, shares
    if logit is not None:
        proposed = np.full(shares.shape, -np.inf)
        for layer, moved in logit.items():
            proposed[layers.index(layer), : len(moved)] = moved[..., at].sum(1)
    order = np.argsort(-proposed, axis=None)[: min(count, int(np.isfinite(proposed).sum()))]
    together: float | None = None
    candidates: list[Head] = [
        (layers[int(row)], int(head))
        for row, head in zip(*np.unravel_index(order, shares.shape), strict=True)
    ]
    rows: list[dict[str, Any]] = [
        {"layer": layers[row], "head": head, "measure": measure, "value": float(value)}
        for measure, values in (("mass", shares), ("retrieval", copied))
        for (row, head), value in np.ndenumerate(values)
    ]
    if candidates:
        cuts = [*([one] for one in candidates), candidates]
        *lost, together = map(float, cut_heads(run, cuts, source.name).sum(1))
        rows += [
            {"layer": layer, "head": head, "measure": "knockout", "value": value}
            for (layer, head), value in zip(candidates, lost, strict=True)
        ]
    frame = pd.DataFrame(rows)
    return tidy(frame, kind="decoder", count=run.first.said, source=source.name), together


def _frame(found: dict[str, _Scored], sources: Sequence[Source]) -> pd.DataFrame:
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for method, scored in found.items():
        for sentence, at in np.ndindex(scored.value.shape):
            value = float(scored.value[sentence, at])
            if np.isfinite(value):
                rows.append(
                    {
                        "sentence": sentence + WHOLE,
                        "source": sources[at].name,
                        "method": method,
                        "value": value,
                        "low": None if scored.low is None else float(scored.low[sentence, at]),
                        "high": None if scored.high is None else float(scored.high[sentence, at]),
                    }
                )
    frame = pd.DataFrame(rows)
    return frame.astype({"low": float, "high": float})
