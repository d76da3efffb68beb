"""Compare two models of one shape, head by head: what fine-tuning changed.

Per head: the similarity of the two maps (the cosine of Kovaleva et al. 2019, section 4.3, and the
Jensen-Shannon divergence of the rows), the change of every statistic, and whether the head's label
is still the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.arguments import need_scope
from headscope.atlas.atlas import Atlas
from headscope.atlas.compare import compare_atlases
from headscope.capture import Kind
from headscope.edits.disable import chosen_kind
from headscope.errors import BadInput
from headscope.files import beside, check_table, write_table
from headscope.finetuning.change import Change, change_of_texts, check_alike
from headscope.finetuning.texts import MAX_TOKENS, Texts, split_read, text_pairs
from headscope.models.loading_report import check_weights
from headscope.results import HeadResult, of_layers, tidy
from headscope.runs import ProgressCallback, Run, fingerprint, scope_identity
from headscope.statistics.discovery import measurable
from headscope.statistics.statistic import Statistic
from headscope.surveys.run import survey
from headscope.surveys.table import Survey
from headscope.tasks.fitting import room

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from headscope.reading import Scope

MOST_TEXTS = 1000  # as in the paper


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(HeadResult):
    """The differences between two models, per head (`table`) and per statistic (`statistics`)."""

    before: str
    after: str
    kind: Kind
    texts: int
    heads: Any  # data frame: layer, head, cosine, divergence, label_before, label_after, relabelled
    statistics: Any  # data frame: layer, head, statistic, before, after, change
    split: str | None = None  # the split of the corpus that was read, where it has several

    @property
    def title(self) -> str:
        read = f", {self.split} split" if self.split else ""
        return f"{self.before} and {self.after} on {self.texts:,} texts{read}"

    @property
    def table(self) -> pd.DataFrame:
        """Tidy: cosine and divergence, then every statistic with its change as the value."""
        import pandas as pd

        alike: Any = self.heads[["layer", "head", "cosine", "divergence"]]
        alike = alike.melt(["layer", "head"], var_name="measure", value_name="value")
        moved = self.statistics.rename(columns={"statistic": "measure", "change": "value"})
        both = pd.concat([alike, moved], ignore_index=True) if len(moved) else alike
        return tidy(both, kind=self.kind, count=self.texts)

    def plot(self, name: str | None = None, kind: str | None = None) -> Figure:
        """The map of one measure: cosine, divergence or a statistic's change."""
        from headscope.figures import layer_head_map

        name = name or "cosine"
        alike = name == "cosine"
        values = self.map(name, kind).to_numpy()
        names = f"{self.before} and {self.after}"
        if self.before == self.after:
            names = f"{self.before}, before and after"
        # dark marks change, not similarity
        return layer_head_map(
            1 - values if alike else values,
            names,
            "1 − cosine similarity"
            if alike
            else name
            if name == "divergence"
            else f"change of {name}",
            diverging=name not in ("cosine", "divergence"),
        )

    def by_layer(self) -> pd.DataFrame:
        """The mean change of every layer."""
        return self.heads.groupby("layer")[["cosine", "divergence"]].mean().reset_index()

    def files(self, output: str | Path) -> dict[Path, Any]:
        """The files to write: the table, and beside it the statistics if there are any."""
        path = check_table(output)
        if self.statistics.empty:
            return {path: self.heads}
        return {beside(path, "statistics"): self.statistics, path: self.heads}

    def save(self, path: str | Path) -> None:
        """As .parquet one file that `load` opens; as .csv the table and the statistics beside."""
        if Path(path).suffix.lower() != ".csv":
            super().save(path)
            return
        for each, table in self.files(path).items():
            write_table(table, each)


def compare(
    a: Any,
    b: Any,
    corpus: Any = None,
    *,
    statistics: Sequence[Any] | None = None,
    labels: bool = True,
    padded: bool = False,
    limit: int | None = MOST_TEXTS,
    max_tokens: int = MAX_TOKENS,
    kind: Kind | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> Any:
    """Compare two models of one shape on a corpus, or two atlases, head by head.

    Heads of two atlases are matched by likeness, and no corpus is needed.

    Parameters
    ----------
    a, b
        Two models, as `hs.load` opens them, or two atlases.
    corpus
        A path, texts, pairs of texts, or a task. A GLUE folder is read as its dev split.
    statistics
        Names of statistics; the standard ones if left out, and none for [].
    labels
        Whether the heads' labels are compared; True by default.
    padded
        Whether maps are compared with their padding, as the paper's code does; False by default.
    limit
        Only the first texts, 1,000 by default.
    max_tokens
        The most tokens of a text, 128 by default.
    kind
        The attention to compare; the model's own if it has one kind.
    output
        A .csv or .parquet file to write; a stopped run resumes from the checkpoint beside it.
    restart
        Whether to start over instead of resuming.
    progress
        Whether to show progress, or a function that is called with it.

    Returns
    -------
    Comparison
        For two models: cosine and divergence of each head's maps, and every statistic's change.
    AtlasComparison
        For two atlases.

    Examples
    --------
    >>> import headscope as hs
    >>> scope = hs.load()
    >>> edited = scope.without([(0, 0)])
    >>> found = hs.compare(
    ...     scope, edited, ["the cat sat"], statistics=[], labels=False, progress=False
    ... )
    >>> bool(found.map("cosine").sel(layer=0, head=1) > 0.999)
    True
    """
    if isinstance(a, Atlas):
        return compare_atlases(a, b)
    need_scope(a)
    need_scope(b, "second")
    if corpus is None:
        raise BadInput("Two models are compared on a corpus; give one as the third argument.")
    if output is not None:
        check_table(output, "A comparison")
    kind = chosen_kind(a, kind)
    check_alike(a, b, kind)
    room(max_tokens)
    for scope in (a, b):
        check_weights(scope.model, scope.name)
    chosen = [_chosen(scope, statistics) for scope in (a, b)]
    asked = [[one.name for one in ones] for ones in chosen]
    texts = text_pairs(corpus, limit)
    identity = {
        "first model": scope_identity(a),
        "second model": scope_identity(b),
        "corpus": fingerprint(texts),
        "settings": [asked, labels, kind, max_tokens],
    }
    title = f"Comparing {a.name} and {b.name}"
    with Run(output, identity, title=title, restart=restart, progress=progress) as run:
        table = _table(change_of_texts(run, a, b, texts, kind, max_tokens), padded)
        table = of_layers(table, a.layer_numbers[kind])
        surveys = _Surveys(run, (a, b), texts, max_tokens)
        moved, named = _measured(surveys, (a, b), chosen, labels, kind)
        if named is not None:
            table = _with_labels(table, named)
        found = Comparison(a.name, b.name, kind, len(texts), table, moved, split_read(corpus))
        if output is not None:
            found.save(output)
    return found


def _chosen(scope: Scope, statistics: Sequence[Any] | None) -> list[Statistic]:
    if statistics is not None and not statistics:
        return []
    return measurable(scope, statistics)[0]


def _table(found: Change, padded: bool) -> Any:
    import pandas as pd

    layer, head = np.indices(found.cosine.shape)
    return pd.DataFrame(
        {
            "layer": layer.ravel(),
            "head": head.ravel(),
            "cosine": (found.cosine_padded if padded else found.cosine).ravel(),
            "divergence": found.divergence.ravel(),
        }
    )


def _with_labels(table: Any, named: Any) -> Any:
    """Every head's label before and after; empty for a head without one."""
    table = table.merge(named, on=["layer", "head"], how="left")
    for column in ("label_before", "label_after"):
        table[column] = table[column].astype(object).where(table[column].notna(), "")
    table["relabelled"] = table["label_before"] != table["label_after"]
    return table


class _Surveys:
    """The surveys of the two models, runs inside the run of the comparison."""

    def __init__(self, run: Run, scopes: tuple[Scope, Scope], texts: Texts, longest: int) -> None:
        self._run, self._scopes, self._longest = run, scopes, longest
        self._corpus = [text if pair is None else (text, pair) for text, pair in texts]

    def of(self, side: int, statistics: Sequence[Any]) -> Survey:
        name = ("before", "after")[side]
        path = self._run.place(f"{name}.parquet")
        if path is not None and path.exists() and (kept := Survey.load(path)).complete:
            return kept
        return survey(
            self._scopes[side],
            self._corpus,
            list(statistics),
            max_tokens=self._longest,
            output=path,
            progress=lambda now: self._run.show(
                dataclasses.replace(now, title=f"Surveying the model {name}")
            ),
        )


def _measured(
    surveys: _Surveys,
    scopes: tuple[Scope, Scope],
    chosen: list[list[Statistic]],
    labels: bool,
    kind: Kind,
) -> tuple[Any, Any]:
    """Every statistic before and after, and the heads' labels before and after."""
    import pandas as pd

    from headscope.patterns.as_statistics import pattern_measures, with_patterns
    from headscope.patterns.labels import labels as labels_of

    frames: Any = pd  # pandas' types do not cover these steps
    keys = ["layer", "head", "measure"]
    columns = ["layer", "head", "statistic", "before", "after"]
    moved = frames.DataFrame(columns=[*columns, "change"])
    if not any(chosen) and not labels:
        return moved, None
    tables: list[Any] = []
    named: list[Any] = []
    for side, (scope, wanted) in enumerate(zip(scopes, chosen, strict=True)):
        # one pass over the texts serves both
        patterns = pattern_measures(scope) if labels else []
        found = surveys.of(side, with_patterns(wanted, patterns))
        whole: Any = found.table[found.table["kind"] == kind]
        if wanted:
            tables.append(whole[whole["measure"].isin([one.name for one in wanted])])
        if labels:
            label: Any = labels_of(found)
            label = label[label["kind"] == kind].drop_duplicates(["layer", "head"])
            named.append(label[["layer", "head", "label"]])
    if len(tables) == 2:
        one, two = (table[[*keys, "value"]] for table in tables)
        moved = one.merge(two, on=keys, suffixes=("_before", "_after"))
        moved.columns = columns
        moved["change"] = moved["after"] - moved["before"]
    if not named:
        return moved, None
    return moved, named[0].merge(
        named[1], on=["layer", "head"], how="outer", suffixes=("_before", "_after")
    )
