"""`hs.open`: opens every file that headscope writes, by its content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope import results
from headscope.arguments import need_path
from headscope.atlas.compare import is_comparison
from headscope.atlas.file import is_atlas
from headscope.errors import BadInput
from headscope.results.storage import class_of

if TYPE_CHECKING:
    from headscope.grounding.learned import HeadWeights
    from headscope.grounding.monitors.monitor import Monitor
    from headscope.reading import Reading
    from headscope.results import HeadResult


def open(path: str | Path) -> Reading | HeadResult | HeadWeights | Monitor:  # noqa: A001  as hs.open
    """Open a reading, a survey, an atlas, a monitor or any other result that headscope wrote.

    Parameters
    ----------
    path
        A .safetensors, .parquet, .csv, .json, .atlas or .zip file, or an atlas's folder. The
        content counts, not the ending. A .npz or .safetensors file of attention from other software
        becomes a reading: an array `attention` (layer × head × query × key) and `tokens`.

    Returns
    -------
    Reading or HeadResult
        An object of the class that was saved. A .csv holds the table alone, which opens as a
        `HeadTable`.

    Examples
    --------
    >>> import headscope as hs
    >>> hs.load().read("Time flies.").save("reading.safetensors")
    >>> hs.open("reading.safetensors").model
    'headscope-bundled'
    """
    path = need_path(path)
    if is_atlas(path):
        return results.Atlas.load(path)
    if is_comparison(path):
        return results.AtlasComparison.load(path)
    if not path.is_file():
        raise BadInput(f"There is no file {path}." if not path.exists() else _unknown(path))
    with path.open("rb") as file:
        start = file.read(16)
    if start[:4] == b"PAR1":
        return _of_parquet(path)
    if start[8:9] == b"{":  # safetensors: the header's length, then the header
        from headscope.reading import Reading
        from headscope.reading.dumped import is_headscopes

        return Reading.load(path) if is_headscopes(path) else Reading.from_attention(path)
    if start[:2] == b"PK" and path.suffix.lower() == ".npz":
        from headscope.reading import Reading

        return Reading.from_attention(path)
    if start[:1] == b"{":
        return _of_json(path)
    if path.suffix.lower() == ".csv":
        return results.HeadTable.read_csv(path)
    raise BadInput(_unknown(path))


def _of_json(path: Path) -> HeadWeights | Monitor:
    from headscope.grounding import learned
    from headscope.grounding.monitors import monitor

    try:
        found: Any = json.loads(path.read_text("utf-8"))
    except ValueError:
        raise BadInput(_unknown(path)) from None
    if found.get("format") == learned.FORMAT:
        return learned.HeadWeights.load(path)
    if found.get("format") == monitor.FORMAT:
        return monitor.Monitor.load(path)
    raise BadInput(_unknown(path))


def _of_parquet(path: Path) -> HeadResult:
    kind: type[HeadResult] | None = getattr(results, class_of(path) or "", None)
    if kind is None:
        raise BadInput(_unknown(path))
    return kind.load(path)


def _unknown(path: Path) -> str:
    return f"{path} was not written by headscope; give a reading, an atlas or a result."
