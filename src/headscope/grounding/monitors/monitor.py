"""A monitor: a few heads of one model and their weights, saved as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from headscope.arguments import need_path, need_scope
from headscope.errors import BadInput
from headscope.files import read_json, write_json
from headscope.grounding.monitors.shares import Looks, Share, shares_of
from headscope.reading.inputs.conversation import Documents, Messages
from headscope.runs.identity import model_fingerprint

if TYPE_CHECKING:
    import pandas as pd

    from headscope.reading import Scope

FORMAT = "headscope monitor 1"


@dataclass(frozen=True)
class MonitoredHead:
    """One head's share of attention, and its weight in the score."""

    share: Share
    layer: int
    head: int
    mean: float  # over the examples that were fitted
    scale: float
    weight: float  # of (share − mean) / scale, in log-odds


@dataclass(frozen=True, eq=False)
class Monitor:
    """Heads whose attention separates True examples from False ones, and how well.

    `auroc` is cross-validated, with its 95 % interval. 95 % of the same fits on shuffled labels
    have an AUROC below `null`; `p` is the share of them that reach `auroc`.
    """

    model: str
    fingerprint: str
    looks: Looks
    heads: tuple[MonitoredHead, ...]
    intercept: float
    auroc: float
    low: float
    high: float
    null: float
    p: float
    examples: int

    @property
    def table(self) -> pd.DataFrame:
        """A row per head."""
        import pandas as pd

        return pd.DataFrame([asdict(one) for one in self.heads])

    def score(
        self, scope: Scope, messages: Messages, documents: Documents = (), answer: str | None = None
    ) -> float:
        """The probability that a conversation is a True one, by one forward pass.

        Parameters
        ----------
        scope
            The model that the monitor was fitted on.
        messages
            A conversation, or one question.
        documents
            Texts, `{"title": …, "text": …}`, or titles with texts.
        answer
            The answer, if the monitor was fitted on answers.

        Returns
        -------
        float
            Between 0 and 1.
        """
        self.check(scope)
        wanted = sorted({one.layer for one in self.heads})
        layers, shares = shares_of(scope, self.looks, messages, documents, answer, wanted)
        total = self.intercept
        for one in self.heads:
            value = shares[self.looks.shares.index(one.share), layers.index(one.layer), one.head]
            total += one.weight * (float(value) - one.mean) / one.scale
        return float(1 / (1 + np.exp(-np.clip(total, -50, 50))))

    def check(self, scope: Scope) -> None:
        """Raise an error if the monitor was fitted on another model."""
        need_scope(scope)
        if model_fingerprint(scope.model) != self.fingerprint:
            raise BadInput(
                f"The monitor was fitted on {self.model}, not on {scope.name}; fit its own with "
                f"hs.monitor.fit(scope, labelled)."
            )

    def __str__(self) -> str:
        reach = f" [{self.low:.2f}, {self.high:.2f}]" if self.low == self.low else ""
        sure = f" (p = {self.p:.3f})" if self.p == self.p else ""
        return (
            f"AUROC {self.auroc:.2f}{reach} on {self.examples} examples; shuffled labels stay "
            f"below {self.null:.2f}{sure}"
        )

    def save(self, path: str | Path) -> None:
        """Write a small JSON file."""
        write_json({"format": FORMAT, **asdict(self)}, need_path(path))

    @classmethod
    def load(cls, path: str | Path) -> Monitor:
        """Open what `save` wrote."""
        path = need_path(path)
        if not path.is_file():
            raise BadInput(f"There is no monitor {path}; make one with hs.monitor.fit and save it.")
        try:
            found = read_json(FORMAT, path)
            looks = Looks(**found.pop("looks"))
            heads = tuple(MonitoredHead(**one) for one in found.pop("heads"))
            return cls(looks=looks, heads=heads, **found)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BadInput(f"{path} holds no monitor; fit one and save it again.") from None
