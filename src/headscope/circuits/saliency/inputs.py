"""Which inputs mattered for an answer, by several methods, each tested by deletion."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.circuits.logits.target import (
    Question,
    Target,
    answer_labels,
    difference,
    logits_of,
    question,
    target_ids,
)
from headscope.circuits.saliency.methods import (
    MOST_FLOW,
    Floats,
    attention_flow,
    gradient_input,
    integrated_gradients,
    rolled_out,
)
from headscope.errors import BadInput, HeadscopeError
from headscope.models.limits import input_embeddings, token_vectors
from headscope.reading.ability import Ability
from headscope.reading.describe import trial_inputs

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope
    from headscope.text.tokenise import Text
    from headscope.text.tokens import Tokens


METHODS = ("gradient_input", "integrated_gradients", "rollout", "flow")


@dataclass(frozen=True, repr=False)
class Inputs:
    """A score per token and method, how complete the sums are, and whether the rankings hold."""

    model: str
    tokens: tuple[str, ...]
    target: tuple[str, ...]
    value: float
    scores: dict[str, Floats]
    incomplete: dict[str, float]  # |Σ − (answer − baseline)| as a share, if it should be 0
    tests: dict[str, Deletion]

    def __repr__(self) -> str:
        asked = " over ".join(f"“{one.strip()}”" for one in self.target)
        ways = ", ".join(self.scores)
        return f"<Inputs of {self.model}: {len(self.tokens)} tokens for {asked} by {ways}>"

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
    """Scores of every token for an answer, by several methods, each with a deletion test.

    The average word of the vocabulary stands for the absence of a word.

    Parameters
    ----------
    scope
        The model.
    text
        The text.
    text_pair
        A second text, or what the decoder of an encoder–decoder reads.
    target
        The token or class whose logit counts, or two to tell apart; the likeliest if left out.
    position
        The number of the token whose answer is asked; the model's own choice if left out.
    methods
        Any of gradient_input, integrated_gradients, rollout and flow; all that apply if left out.
    orders
        How many random orders the deletion test draws, 40 by default.
    seed
        Seed of those orders, 0 by default.

    Returns
    -------
    Inputs
        A score per token and method, and whether each ranking beats random orders.

    Examples
    --------
    >>> import headscope as hs
    >>> scope, text = hs.load(), "The [MASK] sat."
    >>> found = hs.circuits.inputs(scope, text, methods=["gradient_input"], orders=4)
    >>> list(found.table.columns)
    ['token', 'gradient_input']
    """
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
        raise BadInput(
            "Rollout and flow need a model with a single stack; this one has an encoder and a "
            "decoder. Choose gradient_input or integrated_gradients."
        )
    reading = scope.read(text, text_pair)
    kind = reading.part().kind
    row = 0 if given.asked.position is None else given.asked.position
    found: dict[str, Floats] = {}
    if "rollout" in wanted:
        found["rollout"] = rolled_out(reading, kind, row)
    if "flow" in wanted and (insisted or len(given.tokens) <= MOST_FLOW):
        found["flow"] = attention_flow(reading, kind, row)
    return found


# The deletion test: does deleting tokens in a ranking's order lower the answer faster than chance?


@dataclass(frozen=True)
class Deletion:
    """The mean answer while tokens are deleted, most important first; lower is better."""

    area: float
    random: float  # the mean over random orders
    p: float  # how often a random order does as well

    @property
    def better(self) -> bool:
        return self.p < 0.05


def deletion_test(given: Embedded, scores: Floats, orders: int = 40, seed: int = 0) -> Deletion:
    """Replace tokens one by one by the average word, and average the answers on the way."""
    free = np.flatnonzero(given.free.numpy())
    ranked = free[np.argsort(-scores[free], kind="stable")]
    chance = np.random.default_rng(seed)
    tried = [ranked, *(chance.permutation(free) for _ in range(orders))]
    areas = np.array([_area(given, order) for order in tried])
    as_good = (areas[1:] <= areas[0]).sum()
    return Deletion(float(areas[0]), float(areas[1:].mean()), float((1 + as_good) / (1 + orders)))


@torch.no_grad()
def _area(given: Embedded, order: NDArray[np.intp]) -> float:
    """The mean answer over every step but the last, where nothing is left."""
    step = max(1, len(order) // 10)
    x, gone = [given.own[0]], given.own[0].clone()
    for start in range(0, len(order), step):
        gone = gone.clone()
        gone[order[start : start + step].tolist()] = given.average
        x.append(gone)
    return float(given.answers(torch.stack(x[:-1])).mean())


# A text as vectors that gradients reach, and the answer as a function of them.

AT_ONCE = 4096  # tokens run together


def _same_embedded(scope: Scope) -> None:
    """Whether embeddings give the same answers as token numbers; not in models that scale them."""
    trial = trial_inputs(scope.model)
    table = input_embeddings(scope.model)
    if table is None or "input_ids" not in trial:
        raise HeadscopeError(
            f"{scope.name} has no token embeddings, so its inputs cannot be scored."
        )
    trial["input_ids"] = trial["input_ids"].clamp(min=2)  # 1 is RoBERTa's padding
    whole = _first(scope.forward(trial))
    rest = {name: tensor for name, tensor in trial.items() if name != "input_ids"}
    with torch.no_grad():
        embedded = table(trial["input_ids"])
    scope.forward({**rest, "inputs_embeds": 0.9 * embedded})  # Gemma 4 looks tokens up by vectors
    apart = (_first(scope.forward({**rest, "inputs_embeds": embedded})) - whole).abs().max()
    if float(apart) > 1e-3 * max(1.0, float(whole.abs().max())):
        raise HeadscopeError(
            f"{scope.name} answers differently when it is given embeddings instead of tokens, "
            f"so its inputs cannot be scored."
        )


def _first(output: Any) -> Tensor:
    return next(one for one in output.values() if isinstance(one, Tensor) and one.dim() > 1).float()


EMBEDDED = Ability(("inputs",), "asked which inputs matter", _same_embedded)


class Embedded:
    """`answers(embeddings)` is the answer's logit for each of a batch of embedded texts."""

    def __init__(
        self, scope: Scope, text: Text, text_pair: Text | None, target: Target, position: int | None
    ) -> None:
        EMBEDDED.of(scope)
        self.scope = scope
        self.asked: Question = question(scope, text, text_pair, position)
        self.tokens: Tokens = self.asked.key if scope.encoder_decoder else self.asked.query
        table: Any = scope.model.get_input_embeddings()
        with torch.no_grad():
            self.own: Tensor = table(self.asked.inputs["input_ids"])  # 1 t m
            every = token_vectors(scope.model)
            assert every is not None  # it has just given the text's own
            scale = self.own[0, 0].norm() / every[self.asked.inputs["input_ids"][0, 0]].norm()
            self.average: Tensor = every.float().mean(0).to(self.own) * scale  # m
        self.rest = {n: t for n, t in self.asked.inputs.items() if n != "input_ids"}
        with torch.no_grad():
            logits = self._scores(self._run(self.own))[0]
        self.ids = target_ids(scope, self.asked, target, logits)
        self.value = float(difference(logits, self.ids))
        special = self.tokens.content
        self.free = torch.from_numpy(special.copy())  # tokens that may be deleted

    @property
    def baseline(self) -> Tensor:
        """1 t m: every word as the average word of the vocabulary; special tokens stay."""
        keep = self.free.to(self.own.device)[None, :, None]
        return torch.where(keep, self.average.expand_as(self.own), self.own)

    def answers(self, embeddings: Tensor) -> Tensor:
        """b: differentiable."""
        step = max(1, AT_ONCE // embeddings.shape[1])
        parts = [self._answers(some) for some in embeddings.split(step)]
        return torch.cat(parts)

    def _answers(self, embeddings: Tensor) -> Tensor:
        return difference(self._scores(self._run(embeddings)), self.ids)

    def _run(self, embeddings: Tensor) -> Any:
        batch = len(embeddings)
        rest = {name: tensor.expand(batch, *tensor.shape[1:]) for name, tensor in self.rest.items()}
        with self.scope.passes(gradients=torch.is_grad_enabled()) as run:
            return run({**rest, "inputs_embeds": embeddings.clone()})  # CTRL scales it in place

    def _scores(self, output: Any) -> Tensor:
        """b v: the logits at the answer's position."""
        words = self.asked.output_layer is not None
        return logits_of(self.scope, output, words, self.asked.position)
