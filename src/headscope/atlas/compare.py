"""Two atlases compared: heads matched by likeness, what changed, and the examples that show it."""

from __future__ import annotations

import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.atlas.atlas import Atlas
from headscope.atlas.file import UNREADABLE
from headscope.errors import BadInput
from headscope.files import TABLES, atomic_path
from headscope.results import HeadResult, HeadTable, tidy

if TYPE_CHECKING:
    from headscope.capture import Kind


PARTS = ("first.atlas", "second.atlas")  # version of a comparison's file


@dataclass(frozen=True, eq=False, repr=False)
class AtlasComparison(HeadResult):
    """Each head of the first atlas with the most similar head of the second."""

    first: Atlas
    second: Atlas
    matches: pd.DataFrame
    """kind, layer, head, other_layer, other_head, likeness (of their measures a and b, each scaled
    by its spread over heads: 2 a·b / (a² + b²), 1 if they are the same), same_head, label,
    other_label."""

    @property
    def title(self) -> str:
        return f"{self.first.model} beside {self.second.model}"

    @property
    def table(self) -> pd.DataFrame:
        """What changed from each head to its match: value is second minus first."""
        ours: Any = self.first.table
        theirs: Any = self.second.table
        paired = self.matches[["kind", "layer", "head", "other_layer", "other_head"]]
        joined = ours.merge(paired, on=["kind", "layer", "head"]).merge(
            theirs,
            left_on=["kind", "other_layer", "other_head", "measure"],
            right_on=["kind", "layer", "head", "measure"],
            suffixes=("", "_other"),
        )
        joined = joined[~joined["measure"].str.contains(":")]
        error = np.hypot(joined["error"], joined["error_other"])
        change = joined["value_other"] - joined["value"]
        frame = joined[["kind", "layer", "head", "measure", "count", "other_layer", "other_head"]]
        return tidy(frame.assign(value=change, error=error, z=change / error))

    def changed(self, n: int = 20) -> pd.DataFrame:
        """The largest changes, measured by their error."""
        rows: Any = self.table
        finite = rows[np.isfinite(rows["z"])]
        if finite.empty and len(rows):
            raise BadInput(
                "Atlases of fewer than six texts have no standard errors, so changes cannot be "
                "tested; .table lists the changes."
            )
        order = finite["z"].abs().sort_values(ascending=False, kind="stable").index
        return finite.loc[order].head(n).reset_index(drop=True)

    def examples(self, layer: int, head: int, n: int = 5, kind: Kind | None = None) -> pd.DataFrame:
        """The strongest examples of a head and of its match, by the first one's label."""
        of = self.first.kinds[0] if kind is None else kind
        rows: Any = self.matches
        row = rows[(rows["kind"] == of) & (rows["layer"] == layer) & (rows["head"] == head)]
        if row.empty:
            raise BadInput(f"There is no {of} head {layer}-{head} in {self.first.model}.")
        measure = self.first.shown_measure(layer, head, of)
        there = (int(row["other_layer"].iloc[0]), int(row["other_head"].iloc[0]))
        parts = [
            self.first.examples(layer, head, n, measure=measure, kind=of).assign(atlas="first"),
            self.second.examples(*there, n, measure=measure, kind=of).assign(atlas="second"),
        ]
        return pd.concat(parts, ignore_index=True)

    def save(self, path: str | Path) -> None:
        """Write both atlases as a .zip that `load` opens, or the table alone: .csv, .parquet."""
        if Path(path).suffix.lower() in TABLES:
            HeadTable(self.table, self.title).save(path)
            return
        if Path(path).suffix.lower() != ".zip":
            raise BadInput(f"A comparison of atlases is written as .zip, not as {Path(path).name}.")
        with (
            tempfile.TemporaryDirectory() as folder,
            atomic_path(path) as temporary,
            zipfile.ZipFile(temporary, "w") as file,
        ):
            for name, atlas in zip(PARTS, (self.first, self.second), strict=True):
                atlas.save(Path(folder) / name)
                file.write(Path(folder) / name, name)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """What `save` wrote as .zip."""
        try:
            with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as file:
                stored = [Atlas.load(file.extract(name, folder)) for name in PARTS]
                # the folder of files is deleted
                first, second = (
                    Atlas(one.description, {name: one.frame(name) for name in one.names})
                    for one in stored
                )
        except (KeyError, *UNREADABLE) as error:
            raise BadInput(
                f"{path} does not hold a comparison of atlases; save the comparison again."
            ) from error
        return cls(first, second, compare_atlases(first, second).matches)


def is_comparison(path: Path) -> bool:
    """Whether a file holds two atlases that were compared."""
    try:
        with zipfile.ZipFile(path) as file:
            return set(PARTS) <= set(file.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


def compare_atlases(first: Atlas, second: Atlas) -> AtlasComparison:
    """Match heads of one kind by all measures that both atlases have."""
    if not isinstance(second, Atlas):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadInput("Give two atlases to compare; hs.Atlas.load opens one.")
    shared: list[Kind] = [kind for kind in first.kinds if kind in second.kinds]
    if not shared:
        raise BadInput(
            f"{first.model} and {second.model} cannot be compared: they share no kind of attention."
        )
    frames = [_matched(first, second, kind) for kind in shared]
    return AtlasComparison(first, second, pd.concat(frames, ignore_index=True))


def _matched(first: Atlas, second: Atlas, kind: Kind) -> pd.DataFrame:
    ours, theirs = _wide(first, kind), _wide(second, kind)
    names = [name for name in ours.columns if name in theirs.columns]
    if not names:
        raise BadInput("The two atlases have no measure in common.")
    both = np.concatenate([ours[names].to_numpy(float), theirs[names].to_numpy(float)])
    scaled = np.nan_to_num((both - np.nanmean(both, 0)) / (np.nanstd(both, 0) + 1e-9))
    likeness = _likeness(scaled[: len(ours)], scaled[len(ours) :])
    best = likeness.argmax(1)
    mine, other = np.array(ours.index.to_list()), np.array(theirs.index.to_list())[best]
    return pd.DataFrame(
        {
            "kind": kind,
            "layer": mine[:, 0],
            "head": mine[:, 1],
            "other_layer": other[:, 0],
            "other_head": other[:, 1],
            "likeness": likeness[np.arange(len(best)), best],
            "same_head": (mine == other).all(1),
            "label": [first.label(int(layer), int(head), kind) for layer, head in mine],
            "other_label": [second.label(int(layer), int(head), kind) for layer, head in other],
        }
    )


def _wide(atlas: Atlas, kind: Kind) -> pd.DataFrame:
    rows: Any = atlas.table
    rows = rows[(rows["kind"] == kind) & ~rows["measure"].str.contains(":")]
    return rows.pivot_table(index=["layer", "head"], columns="measure", values="value")


def _likeness(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """2 a·b / (a² + b²): a cosine would find a head like a weak copy of itself."""
    sizes = (a**2).sum(1)[:, None] + (b**2).sum(1)[None]
    return 2 * (a @ b.T) / np.maximum(sizes, 1e-12)
