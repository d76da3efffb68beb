"""Which inputs mattered for an answer, told in several ways, each put to the test."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headscope.circuits.logits.target import answer_labels
from headscope.circuits.saliency.deletion import Deletion, deletion_test
from headscope.circuits.saliency.embedded import Embedded
from headscope.circuits.saliency.methods import (
    MOST_FLOW,
    Floats,
    attention_flow,
    gradient_input,
    integrated_gradients,
    rolled_out,
)
from headscope.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

    from headscope.circuits.logits.target import Target
    from headscope.reading import Scope
    from headscope.text.tokenise import Text

METHODS = ("gradient_input", "integrated_gradients", "rollout", "flow")


@dataclass(frozen=True)
class Inputs:
    """A score a token and method, how complete the sums are, and whether the rankings hold."""

    model: str
    tokens: tuple[str, ...]
    target: tuple[str, ...]
    value: float
    scores: dict[str, Floats]
    incomplete: dict[str, float]  # |Σ − (answer − baseline)| as a share, where it should be 0
    tests: dict[str, Deletion]

    @property
    def table(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame({"token": self.tokens, **self.scores})

    @property
    def sentence(self) -> str:
        """Which rankings are better than chance on this text."""
        held = [name.replace("_", " ") for name, test in self.tests.items() if test.better]
        if not held:
            return "No ranking of the tokens beats random ones in the deletion test."
        return f"Better than random order in the deletion test: {', '.join(held)}."


def inputs(
    scope: Scope,
    text: Text,
    text_pair: Text | None = None,
    *,
    target: Target = None,
    position: int | None = None,
    methods: Collection[str] | None = None,
    orders: int = 40,
    seed: int = 0,
) -> Inputs:
    """Scores of every token for the asked answer; the average word is the absence of a word."""
    chosen = METHODS if methods is None else tuple(methods)
    wrong = [name for name in chosen if name not in METHODS]
    if wrong:
        raise BadInput(f"There is no method {wrong[0]!r}; there are {', '.join(METHODS)}.")
    given = Embedded(scope, text, text_pair, target, position)
    scores: dict[str, Floats] = {}
    incomplete: dict[str, float] = {}
    if "gradient_input" in chosen:
        scores["gradient_input"] = gradient_input(given)
    if "integrated_gradients" in chosen:
        found, missing = integrated_gradients(given)
        scores["integrated_gradients"], incomplete["integrated_gradients"] = found, missing
    scores |= _by_attention(scope, given, text, text_pair, chosen, methods is not None)
    tests = {name: deletion_test(given, one, orders, seed) for name, one in scores.items()}
    return Inputs(
        scope.name, tuple(given.tokens.labels), answer_labels(scope, given.asked, given.ids),
        given.value, scores, incomplete, tests,
    )  # fmt: skip


def _by_attention(
    scope: Scope,
    given: Embedded,
    text: Text,
    text_pair: Text | None,
    chosen: Collection[str],
    insisted: bool,
) -> dict[str, Floats]:
    wanted = [name for name in ("rollout", "flow") if name in chosen]
    if not wanted or (scope.encoder_decoder and not insisted):
        return {}
    if scope.encoder_decoder:
        raise BadInput("Rollout and flow follow one stack; this model has two.")
    reading = scope.read(text, text_pair)
    kind = reading.part().kind
    row = 0 if given.asked.position is None else given.asked.position
    found: dict[str, Floats] = {}
    if "rollout" in wanted:
        found["rollout"] = rolled_out(reading, kind, row)
    if "flow" in wanted and (insisted or len(given.tokens) <= MOST_FLOW):
        found["flow"] = attention_flow(reading, kind, row)
    return found
