"""Head weights: which heads' attention shows where an answer came from, learned per model.

As in AT2 (Cohen-Wang et al. 2025): a ridge regression from each head's attention to a source on the
answer's loss without that source. Fitted once, saved as JSON, and applied in one forward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.arguments import need_path, need_scope
from headscope.errors import BadInput
from headscope.files import read_json, write_json
from headscope.grounding.facts import KINDS, Fact, facts
from headscope.grounding.mass import HeadMass
from headscope.grounding.passes import AnswerPasses
from headscope.grounding.prompts import prompt_of
from headscope.grounding.sources import By, sources_of, without
from headscope.reading.inputs.conversation import Documents, Messages
from headscope.runs.identity import model_fingerprint
from headscope.runs.run import Progress, ProgressCallback, showing
from headscope.statistics.significance import mean_interval
from headscope.text.chat import titled

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope

Floats = NDArray[np.float64]
FORMAT = "headscope head weights 1"
ALPHAS = (0.1, 1.0, 10.0, 100.0, 1000.0)
FOLDS = 5


@dataclass(frozen=True, eq=False)
class HeadWeights:
    """A weight for each head of one model, and how well they rank held-out sources."""

    model: str
    fingerprint: str  # of the model's weights, because heads of another model differ
    weights: tuple[tuple[float, ...], ...]  # layers × heads
    correlation: float  # rank correlation with exact ablation, cross-validated over questions
    low: float  # its 95 % interval
    high: float
    first: float  # share of questions whose most important source came first, cross-validated
    questions: int
    alpha: float

    @property
    def array(self) -> Floats:
        return np.array(self.weights)

    def score(self, mass: NDArray[np.float32]) -> Floats:
        """… × source from layer × head × … × source."""
        if mass.shape[:2] != self.array.shape:
            raise BadInput(
                f"The head weights are for {len(self.weights)} layers × {len(self.weights[0])} "
                f"heads, and this model has {mass.shape[0]} × {mass.shape[1]}; fit its own."
            )
        return np.tensordot(self.array, mass.astype(float), axes=([0, 1], [0, 1]))

    def by_source(
        self,
        scope: Scope,
        messages: Messages,
        documents: Documents,
        answer: str,
        by: By = "document",
    ) -> pd.DataFrame:
        """The sources of an answer by these weights alone, in one forward pass.

        Parameters
        ----------
        scope
            The model that the weights were fitted on.
        messages
            A conversation, or one question.
        documents
            Texts, `{"title": …, "text": …}`, or titles with texts.
        answer
            The answer.
        by
            "document", "paragraph", "sentence", or names of such spans.

        Returns
        -------
        pandas.DataFrame
            `source` and `value`, the largest first.
        """
        import pandas as pd

        self.check(scope)
        given = titled(documents)
        names = [one.name for one in sources_of(given, by)]
        if not names:
            raise BadInput("Give the documents that the answer may have been taken from.")
        prompt = prompt_of(scope, messages, given, answer)
        mass = HeadMass(scope, prompt.predicting, prompt.members(names), norms=False)
        mass.read(prompt.ids[None, :-1])
        value = self.score(mass.attention).mean(0)
        frame = pd.DataFrame({"source": names, "value": value})
        return frame.sort_values("value", ascending=False).reset_index(drop=True)

    def check(self, scope: Scope) -> None:
        """Raise an error if the weights were fitted on another model."""
        if model_fingerprint(scope.model) != self.fingerprint:
            raise BadInput(
                f"The head weights were fitted on {self.model}, not on {scope.name}; fit its "
                f"own with hs.fit_head_weights(scope)."
            )

    def save(self, path: str | Path) -> None:
        """Write a small JSON file."""
        write_json({"format": FORMAT, **asdict(self)}, need_path(path))

    @classmethod
    def load(cls, path: str | Path) -> HeadWeights:
        """Open what `save` wrote."""
        path = need_path(path)
        if not path.is_file():
            raise BadInput(f"There is no file {path}; fit head weights and save them there.")
        try:
            found = read_json(FORMAT, path)
            rows = tuple(tuple(map(float, row)) for row in found.pop("weights"))
            return cls(weights=rows, **found)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BadInput(f"{path} holds no head weights; fit and save them again.") from None


def fit_head_weights(
    scope: Scope,
    questions: Sequence[Fact] | None = None,
    *,
    seed: int = 0,
    progress: bool | ProgressCallback = True,
) -> HeadWeights:
    """Learn from exact ablations which heads' attention shows where an answer comes from.

    Parameters
    ----------
    scope
        A decoder.
    questions
        The training questions; 36 invented facts of every kind if left out.
    seed
        Seed of the invented facts.
    progress
        Whether to show a bar, or a function that is called instead.

    Returns
    -------
    HeadWeights
        Save them as JSON; `hs.ground(…, weights=…)` takes them.

    Examples
    --------
    >>> weights = hs.fit_head_weights(scope)  # doctest: +SKIP
    >>> weights.save("smollm2.json")  # doctest: +SKIP
    """
    need_scope(scope)
    asked = facts(36, KINDS, seed) if questions is None else list(questions)
    if len(asked) < 2 * FOLDS:
        raise BadInput(f"Head weights need at least {2 * FOLDS} questions, not {len(asked)}.")
    rows: list[Floats] = []
    lost: list[Floats] = []
    with showing(progress) as show:
        for number, one in enumerate(asked):
            show(Progress(number, len(asked), title="Fitting head weights"))
            mass, losses = _measured(scope, one)
            rows.append(mass)
            lost.append(losses)
    shape = rows[0].shape[:2]
    given = [_centred(one.reshape(-1, one.shape[-1]).T) for one in rows]
    wanted = [_centred(_shares(one)) for one in lost]
    groups = np.repeat(np.arange(len(asked)), [len(one) for one in lost])
    x, y = np.concatenate(given), np.concatenate(wanted)
    predicted, alpha = _held_out(x, y, groups), _penalty(x, y, groups)
    ranked = [_rank(predicted[groups == n], y[groups == n]) for n in range(len(asked))]
    first = [
        float(np.argmax(predicted[groups == n]) == np.argmax(y[groups == n]))
        for n in range(len(asked))
    ]
    known = np.array([one for one in ranked if np.isfinite(one)])
    low, high = mean_interval(known) if len(known) else (np.nan, np.nan)
    found = _fit(x, y, alpha).reshape(shape)
    return HeadWeights(
        model=scope.name,
        fingerprint=model_fingerprint(scope.model),
        weights=tuple(tuple(map(float, row)) for row in found),
        correlation=_mean(ranked),
        low=float(low),
        high=float(high),
        first=float(np.mean(first)),
        questions=len(asked),
        alpha=alpha,
    )


def _measured(scope: Scope, fact: Fact) -> tuple[Floats, Floats]:
    """layer × head × source, the mean over the answer; and the loss without each source."""
    documents = [("", text) for text in fact.documents]
    sources = sources_of(documents)
    names = [one.name for one in sources]
    prompt = prompt_of(scope, fact.question, documents, fact.answer)
    mass = HeadMass(scope, prompt.predicting, prompt.members(names), norms=False)
    passes = AnswerPasses(scope, prompt, mass)
    others = [
        prompt_of(scope, fact.question, without(documents, [one]), fact.answer) for one in sources
    ]
    lost = (passes.log_probabilities - passes.of(others)).sum(1)
    return mass.attention.mean(2).astype(float), lost


def _shares(lost: Floats) -> Floats:
    """Shares of the largest loss: questions count by ranking, not by the answer's surprise."""
    return lost / max(1e-6, float(np.abs(lost).max()))


def _centred(values: Floats) -> Floats:
    return values - values.mean(0)


def _fit(x: Floats, y: Floats, alpha: float) -> Floats:
    from sklearn.linear_model import Ridge

    scale = np.maximum(x.std(0), 1e-6)
    model: Any = Ridge(alpha=alpha, fit_intercept=False).fit(x / scale, y)
    return np.asarray(model.coef_, dtype=float) / scale


def _held_out(x: Floats, y: Floats, groups: NDArray[np.intp]) -> Floats:
    """Scores of each fold of questions by weights and a penalty fitted without it."""
    predicted = np.zeros(len(y))
    for seen, left in _folds(groups):
        alpha = _penalty(x[seen], y[seen], groups[seen])
        predicted[left] = x[left] @ _fit(x[seen], y[seen], alpha)
    return predicted


def _penalty(x: Floats, y: Floats, groups: NDArray[np.intp]) -> float:
    """The penalty that ranks held-out questions best."""
    scores: list[float] = []
    for alpha in ALPHAS:
        ranked: list[float] = []
        for seen, left in _folds(groups):
            predicted = x[left] @ _fit(x[seen], y[seen], alpha)
            own = groups[left]
            ranked += [_rank(predicted[own == n], y[left][own == n]) for n in np.unique(own)]
        scores.append(_mean(ranked))
    return ALPHAS[int(np.argmax(scores))]


def _folds(groups: NDArray[np.intp]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    from sklearn.model_selection import GroupKFold

    found: Any = GroupKFold(FOLDS).split(groups, groups, groups)
    return list(found)


def _mean(values: Sequence[float]) -> float:
    """The mean over questions that can be ranked: equal sources have no order."""
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else 0.0


def _rank(one: Floats, two: Floats) -> float:
    from scipy.stats import spearmanr

    if np.ptp(one) == 0 or np.ptp(two) == 0:
        return float("nan")
    found: Any = spearmanr(one, two)
    return float(found.statistic)
