"""Compare two models of one shape, head by head: what fine-tuning changed.

Per head: how alike the two maps are (the cosine of Kovaleva et al. 2019, section 4.3, and the
Jensen-Shannon divergence of the rows), how far every statistic moved, and whether the head's
pattern is still the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.capture import Kind
from headscope.corpus.tasks import Task
from headscope.edits.answers import Track, untracked
from headscope.edits.change import change, check_alike
from headscope.edits.disable import chosen_kind
from headscope.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from headscope.models.tokenise import Batch
    from headscope.reading import Scope

MOST_TEXTS = 1000  # as in the paper
MAX_LENGTH = 128
BATCH = 16


@dataclass(frozen=True)
class Comparison:
    """What differs between two models, per head (`table`) and per statistic (`statistics`)."""

    before: str
    after: str
    kind: Kind
    texts: int
    table: Any  # data frame: layer, head, cosine, divergence, label_before, label_after, relabelled
    statistics: Any  # data frame: layer, head, statistic, before, after, change

    def map(self, name: str = "cosine") -> np.ndarray:
        """layer head: a column of the table, or the change of a statistic."""
        if name in ("cosine", "divergence"):
            return self.table.pivot(index="layer", columns="head", values=name).to_numpy(float)
        found = self.statistics[self.statistics["statistic"] == name]
        if found.empty:
            known = ["cosine", "divergence", *self.statistics["statistic"].unique()]
            raise BadInput(f"There is no {name!r} to map; choose one of {', '.join(known)}.")
        return found.pivot(index="layer", columns="head", values="change").to_numpy(float)

    def plot(self, name: str = "cosine") -> Figure:
        """The map of one measure: cosine and divergence as they are, a statistic's change."""
        from headscope.figures import layer_head_map

        alike = name == "cosine"
        return layer_head_map(
            self.map(name),
            f"{self.before} and {self.after}",
            "cosine similarity" if alike else name if name == "divergence" else f"change of {name}",
            diverging=name not in ("cosine", "divergence"),
            limits=(0.0, 1.0) if alike else None,
        )

    def by_layer(self) -> pd.DataFrame:
        """The mean of every layer: where the change lies."""
        return self.table.groupby("layer")[["cosine", "divergence"]].mean().reset_index()


def compare(
    a: Scope,
    b: Scope,
    corpus: Any,
    *,
    statistics: Sequence[Any] | None = None,
    labels: bool = True,
    padded: bool = False,
    limit: int | None = MOST_TEXTS,
    max_length: int = MAX_LENGTH,
    kind: Kind | None = None,
    track: Track = untracked,
) -> Comparison:
    """Compare two scopes on a corpus (a path, texts, pairs of texts, or a task).

    `statistics` are those of `hs.survey` (None: the standard ones, []: none). `padded` lays out
    the whole padded map, as the paper's code does, rather than the part of real tokens.
    """
    import pandas as pd

    kind = chosen_kind(a, kind)
    check_alike(a, b, kind)
    texts = text_pairs(corpus, limit)
    batches = batches_of(a, texts, max_length)
    found = change(a, b, track(batches, f"comparing {a.name} and {b.name}"), kind)
    layer, head = np.indices(found.cosine.shape)
    table: Any = pd.DataFrame(
        {
            "layer": layer.ravel(),
            "head": head.ravel(),
            "cosine": (found.cosine_padded if padded else found.cosine).ravel(),
            "divergence": found.divergence.ravel(),
        }
    )
    moved, named = _measured(a, b, texts, statistics, labels, kind, max_length)
    if named is not None:
        table = table.merge(named, on=["layer", "head"], how="left")
        for column in ("label_before", "label_after"):
            table[column] = table[column].astype(object).where(table[column].notna(), "")
        table["relabelled"] = table["label_before"] != table["label_after"]
    return Comparison(a.name, b.name, kind, found.texts, table, moved)


def text_pairs(corpus: Any, limit: int | None) -> list[tuple[str, str | None]]:
    """The texts of a corpus, each with its second sentence if it has one."""
    if isinstance(corpus, Task):
        chosen = corpus.sample(limit)
        pairs: Sequence[str | None] = chosen.pairs or [None] * len(chosen)
        return list(zip(chosen.texts, pairs, strict=True))
    from headscope.corpus.bad_data import Faults
    from headscope.corpus.documents import Reader

    found: list[tuple[str, str | None]] = []
    for document in Reader().documents(corpus, Faults()):
        found.append((document.text, document.pair))
        if limit is not None and len(found) >= limit:
            break
    if not found:
        raise BadInput("The corpus holds no text to compare the models on.")
    return found


def batches_of(
    scope: Scope, texts: list[tuple[str, str | None]], longest: int = MAX_LENGTH
) -> list[Batch]:
    """Texts of like length side by side."""
    order = sorted(texts, key=lambda pair: len(pair[0]) + len(pair[1] or ""))
    return [
        scope.encode(
            [text for text, _ in order[start : start + BATCH]],
            [pair for _, pair in order[start : start + BATCH]],
            truncate=True,
            max_length=longest,
        )
        for start in range(0, len(order), BATCH)
    ]


def _measured(
    a: Scope,
    b: Scope,
    texts: list[tuple[str, str | None]],
    statistics: Sequence[Any] | None,
    labels: bool,
    kind: Kind,
    longest: int,
) -> tuple[Any, Any]:
    """Every statistic before and after, and the heads' labels before and after."""
    import pandas as pd

    import headscope.patterns as patterns
    from headscope.statistics import survey

    frames: Any = pd  # the library's own types do not follow a frame through these steps
    columns = ["layer", "head", "statistic", "before", "after", "change"]
    if statistics is not None and not statistics and not labels:
        return frames.DataFrame(columns=columns), None
    tables: list[Any] = []
    named: list[Any] = []
    corpus = [text if pair is None else (text, pair) for text, pair in texts]
    for scope in (a, b):
        chosen: list[Any] | None = None if statistics is None else list(statistics)
        if chosen is None or chosen:
            whole: Any = survey(scope, corpus, statistics=chosen, max_tokens=longest)
            tables.append(whole.table[whole.table["kind"] == kind])
        if labels:
            found = survey(scope, corpus, statistics=patterns.measures(scope), max_tokens=longest)
            label: Any = patterns.labels(found)
            label = label[label["kind"] == kind].drop_duplicates(["layer", "head"])
            named.append(label[["layer", "head", "label"]])
    moved = frames.DataFrame(columns=columns)
    if tables:
        keys = ["layer", "head", "statistic"]
        one, two = (table[[*keys, "value"]] for table in tables)
        moved = one.merge(two, on=keys, suffixes=("_before", "_after"))
        moved.columns = [*keys, "before", "after"]
        moved["change"] = moved["after"] - moved["before"]
    if not named:
        return moved, None
    return moved, named[0].merge(
        named[1], on=["layer", "head"], how="outer", suffixes=("_before", "_after")
    )
