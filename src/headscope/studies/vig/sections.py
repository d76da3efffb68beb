"""One section per pattern: the best heads, shown and explained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.errors import HeadscopeError
from headscope.patterns.explain import position_aware, sentence_sign, separator_matching
from headscope.patterns.pattern import pattern_named
from headscope.studies.heads_atlas import show_examples
from headscope.studies.vig.posts import PostPattern
from headscope.studies.vig.texts import SENTENCE_A, SENTENCE_B

if TYPE_CHECKING:
    from headscope.reading import Reading
    from headscope.studies.pieces import Section
    from headscope.studies.report import Report
    from headscope.studies.vig.findings import Findings

SHOWN = ["head", "score", "lift", "null", "error", "labelled"]
POSITION_TEXTS = 12


def pattern_section(report: Report, found: Findings, post: PostPattern) -> None:
    """Scores, head views, and the neuron-level explanation of one pattern."""
    section = report.section(post.title, post.said)
    measured = [name for name in post.scores if name in found.measured]
    for name in post.scores:
        if name not in measured:
            label = pattern_named(name).label
            section.note(f"“{label}” is left out: {_why_not(found, name)}")
    if not measured:
        return
    lead = measured[0]
    for name in measured:
        _scores(section, found, name)
    layer, head = found.best(lead)
    show_examples(section, found.atlas, lead, (layer, head))
    _views(section, found, lead, layer, head)
    _reason(section, found, lead)
    section.text(_mechanism(found, lead, layer, head))


def _why_not(found: Findings, name: str) -> str:
    if name in found.left_out:
        return found.left_out[name]
    if not pattern_named(name).applies(found.scope.causal):
        return (
            "this model looks only back." if found.scope.causal else "this model looks both ways."
        )
    return "no text of the corpus has a target for it, or the model lacks what it needs."


def _scores(section: Section, found: Findings, name: str) -> None:
    top = found.top(name)
    top["head"] = [f"{row.layer}-{row.head}" for row in top.itertuples()]
    pattern = pattern_named(name)
    held = found.scores[(found.scores["pattern"] == name)]["labelled"].sum()
    section.table(
        name,
        top[SHOWN],
        f"**{pattern.label}**: a head {pattern.about}. The five highest of "
        f"{len(found.scores[found.scores['pattern'] == name])} heads; {held} heads earn the label "
        f"(score at least {pattern.least_score}, and beyond its key-permutation null).",
    )


def _views(section: Section, found: Findings, name: str, layer: int, head: int) -> None:
    from headscope.surfaces import head_view

    label = pattern_named(name).label
    here = found.scope.read(*_post(found), layers=[layer])
    section.view(
        f"view-{name}",
        head_view(here, layer=layer, heads=[head], labels=()),
        f"Head {layer}-{head} ({label}) on the posts' own sentences. Hover a token for its lines.",
        height=700,
    )
    example = found.example(name)
    if example is None:
        return
    reading, score = example
    section.figure(
        f"example-{name}",
        head_view(reading, layer=layer, heads=[head], labels=()).figure(),
        f"The same head on the corpus text where it shows the pattern most clearly "
        f"(score {score:.2f}).",
    )


def _post(found: Findings) -> tuple[str, ...]:
    both = (SENTENCE_A, SENTENCE_B)
    return (" ".join(both),) if found.scope.causal else both


def _reason(section: Section, found: Findings, name: str) -> None:
    explained = found.explanation(name)
    if explained is None:
        section.text(
            "**Why.** This pattern is an order of all words, or its neurons cannot be read."
        )
        return
    reason, reading = explained
    where = "the posts' sentences" if reading is found.post else "the corpus text above"
    section.text(f"**Why**, on {where}. {reason.words}")
    section.table(
        f"{name}_neurons",
        reason.neurons.head(8),
        f"The neurons of head {reason.layer}-{reason.head} that raise the targets most. "
        "`queries` is the share of queries where a neuron helps.",
    )
    if name in ("next_word", "delimiter", "bag_of_words", "previous_word"):
        _neurons(section, name, reason, reading)


def _neurons(section: Section, name: str, reason: Any, reading: Reading) -> None:
    from headscope.patterns.explain.targets import targets_of
    from headscope.statistics.features.grid import grid_of
    from headscope.surfaces import neuron_view

    part = reading.part()
    aimed = targets_of(reason.pattern, grid_of([part.query], kind=part.kind, causal=part.causal))
    asking = np.flatnonzero(aimed.any(1))
    token = int(asking[min(1, len(asking) - 1)])
    section.view(
        f"neurons-{name}",
        neuron_view(reading, layer=reason.layer, head=reason.head, query=token, labels=()),
        f"Queries and keys of head {reason.layer}-{reason.head} for the token "
        f"“{part.query.labels[token]}”; the first neurons of the explanation are "
        f"{', '.join(reason.top(8))}.",
        height=620,
    )


def _mechanism(found: Findings, name: str, layer: int, head: int) -> str:
    """A test of the posts' own explanation of a pattern."""
    try:
        if name in ("delimiter", "sink"):
            matching = separator_matching(found.post, layer, head, name)
            return f"**Special-token neurons.** {matching.words}"
        if name == "bag_of_words":
            sign = sentence_sign(found.scope, SENTENCE_A, SENTENCE_B, layer, head)
            return f"**Sentence-sign neurons.** {sign.words}"
        if name in ("next_word", "previous_word"):
            texts = [" ".join(pair) for pair in found.corpus.pairs[:POSITION_TEXTS]]
            moved = position_aware(found.scope, texts, layer, head, name)
            return f"**Position-aware neurons.** {moved.words}"
    except HeadscopeError as error:
        return f"The mechanism could not be tested: {error}"
    return ""
