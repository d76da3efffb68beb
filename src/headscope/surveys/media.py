"""A survey over pictures or sounds: every measure of each reading, averaged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import BadInput, Stopped
from headscope.media.picture import Picture, open_picture
from headscope.media.sound import Sound
from headscope.runs import ProgressCallback, Run, State, scope_identity
from headscope.statistics.of_media import media_values
from headscope.statistics.significance import FEWEST
from headscope.surveys.corpus import SOUNDS
from headscope.surveys.table import COLUMNS, Survey

if TYPE_CHECKING:
    from headscope.reading import Scope

Sums = dict[str, NDArray[np.float64]]  # "kind measure" → 3 layers heads: sum, of squares, count


def survey_media(
    scope: Scope,
    files: Sequence[Any],
    statistics: str | Sequence[Any] | None = None,
    *,
    limit: int | None = None,
    output: str | Path | None = None,
    restart: bool = False,
    progress: bool | ProgressCallback = True,
) -> Survey:
    """Measure every head over pictures or sounds, one reading at a time.

    The value is the mean over readings, the error that of the mean.
    """
    chosen = [
        one if isinstance(one, (str, Path, Sound)) else open_picture(one)
        for one in list(files)[:limit]
    ]
    wanted = None if statistics is None or statistics == "all" else _names(statistics)
    identity = {
        **scope_identity(scope),
        "statistics": wanted or "all",
        "files": [_name(one) for one in chosen],
    }
    with Run(output, identity, title="Surveying", restart=restart, progress=progress) as run:
        part = run.part("counts")
        state = part.recall()
        sums: Sums = {} if state is None else dict(state.arrays)
        done = 0 if state is None else int(state.position["files"])

        def now() -> State:
            return State({"files": done}, sums)

        def made(complete: bool) -> Survey:
            found = _survey(sums, {"model": scope.name, "readings": done, "complete": complete})
            if complete and run.output is not None:
                found.save(run.output)
            return found

        try:
            for one in chosen[done:]:
                values = _values(scope, one, wanted)
                with part.step(now):
                    _add(sums, values)
                    done += 1
                run.tell(done, len(chosen))
        except KeyboardInterrupt:
            stopped = Stopped()
            stopped.partial = made(complete=False) if done else None
            raise stopped from None
        return made(complete=True)


def _names(statistics: str | Iterable[Any]) -> list[str]:
    from headscope.statistics.of_media import known

    named = [statistics] if isinstance(statistics, str) else list(statistics)
    for name in named:
        if name not in known():
            raise BadInput(
                f"Pictures and sounds are not measured by {name}, but by {', '.join(known())}."
            )
    return named


def _name(one: Any) -> str:
    """The identity of a file or array, by its content."""
    import hashlib

    if isinstance(one, (str, Path)):
        return f"{one} {hashlib.blake2b(Path(one).read_bytes(), digest_size=16).hexdigest()}"
    held = one.pixels if isinstance(one, Picture) else one.samples
    return f"{one.name} {hashlib.blake2b(held.tobytes(), digest_size=16).hexdigest()}"


def _values(scope: Scope, one: Any, wanted: Sequence[str] | None) -> Sums:
    heard = isinstance(one, Sound) or (
        isinstance(one, (str, Path)) and Path(one).suffix.lower() in SOUNDS
    )
    reading = scope.read(audio=one) if heard else scope.read(image=one)
    return {
        f"{kind} {name}": values
        for kind, part in reading.parts.items()
        for name, values in media_values(part).items()
        if wanted is None or name in wanted
    }


def _add(sums: Sums, values: Sums) -> None:
    for name, found in values.items():
        there = ~np.isnan(found)
        plain = np.where(there, found, 0.0)
        new = np.stack([plain, plain**2, there.astype(np.float64)])
        sums[name] = sums[name] + new if name in sums else new


def _survey(sums: Sums, metadata: dict[str, Any]) -> Survey:
    import pandas as pd

    frames: list[pd.DataFrame] = []
    for name, (total, squares, count) in sums.items():
        kind, measure = name.split(" ", 1)
        layers, heads = np.meshgrid(*map(np.arange, total.shape), indexing="ij")
        mean = total / np.maximum(count, 1)
        spread = np.maximum(squares / np.maximum(count, 1) - mean**2, 0.0)
        error = np.where(count >= FEWEST, np.sqrt(spread / np.maximum(count - 1, 1)), np.nan)
        columns = [kind, layers, heads, measure, mean, error, count.astype(int)]
        flat = {
            column: value.ravel() if isinstance(value, np.ndarray) else value
            for column, value in zip(COLUMNS, columns, strict=True)
        }
        frame: Any = pd.DataFrame(flat)
        frames.append(frame[frame["count"] > 0])
    if not frames:
        raise BadInput("No picture or sound was read.")
    return Survey(pd.concat(frames, ignore_index=True), metadata)
