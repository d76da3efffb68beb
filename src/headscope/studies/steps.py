"""Steps: the finished tables of a study, kept on disk so a stopped run goes on where it was."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from headscope.files import atomic_path

if TYPE_CHECKING:
    import pandas as pd

Item = TypeVar("Item")


class Progress:
    """Where a study says what it is doing; this one is silent, the command line shows bars."""

    def start(self, step: str) -> None: ...

    def track(self, items: Iterable[Item], step: str, total: int | None = None) -> Iterator[Item]:
        yield from items


@dataclass
class Steps:
    """`steps.table(name, compute)` computes a table once per set of settings.

    With no folder nothing is kept. The key holds whatever decides the result (model, data,
    limits): a step found under another key is computed again.
    """

    folder: Path | None = None
    key: dict[str, object] | None = None
    progress: Progress = field(default_factory=Progress)

    def table(self, name: str, compute: Callable[[], pd.DataFrame]) -> pd.DataFrame:
        """The table `name`: read back if an earlier run finished it, else computed and kept."""
        import pandas as pd

        self.progress.start(name)
        if self.folder is None:
            return compute()
        kept = self.folder / f"{name}-{self._digest()}.parquet"
        if kept.exists():
            return pd.read_parquet(kept)
        frame = compute()
        self.folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(kept) as temporary:
            frame.to_parquet(temporary)
        return frame

    def track(self, items: Iterable[Item], step: str, total: int | None = None) -> Iterator[Item]:
        """The items, counted on the progress bar of `step`."""
        return self.progress.track(items, step, total)

    def clear(self) -> None:
        """Forget the kept steps, once the report that needed them is written."""
        if self.folder is not None and self.folder.exists():
            shutil.rmtree(self.folder)

    def _digest(self) -> str:
        text = json.dumps(self.key or {}, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:12]
