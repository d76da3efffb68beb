"""`hs.open`: opens every file that headscope writes, by its content."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope import results
from headscope.arguments import need_path
from headscope.atlas.compare import is_comparison
from headscope.atlas.file import is_atlas
from headscope.errors import BadInput
from headscope.files import read_json
from headscope.json_text import parse_json
from headscope.results.storage import class_of, is_table

if TYPE_CHECKING:
    import pandas as pd

    from headscope.circuits.followed import Traced
    from headscope.circuits.patching.pairs import Pairs
    from headscope.grounding.learned import HeadWeights
    from headscope.grounding.monitors.labelled import Labelled
    from headscope.grounding.monitors.monitor import Monitor
    from headscope.reading import Reading
    from headscope.results import HeadResult

    Result = Reading | HeadResult | HeadWeights | Monitor | Traced | Pairs
    Opened = Result | list[Labelled] | pd.DataFrame | dict[str, Any]


def open(path: str | Path) -> Opened:  # noqa: A001  as hs.open
    """Open a reading, a survey, an atlas, a monitor or any other result that headscope wrote.

    Parameters
    ----------
    path
        A .safetensors, .parquet, .csv, .json, .jsonl, .atlas or .zip file, or an atlas's folder.
        The content counts, not the ending. A .npz or .safetensors file of attention from other
        software becomes a reading: an array `attention` (layer × head × query × key) and `tokens`.

    Returns
    -------
    Reading or HeadResult
        An object of the class that was saved: also `HeadWeights`, `Monitor`, `Traced`, `Pairs`, or
        a list of labelled conversations. A .csv holds the table alone, which opens as a
        `HeadTable`; a table without heads is a data frame. What `to_json` wrote for other software
        opens as a dict.

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
        raise BadInput(
            f"There is no file {path}; check the path." if not path.exists() else _unknown(path)
        )
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
        return _of_lines(path) if path.suffix.lower() == ".jsonl" else _of_json(path)
    if path.suffix.lower() == ".csv":
        return results.HeadTable.read_csv(path)
    raise BadInput(_unknown(path))


def _of_json(path: Path) -> HeadWeights | Monitor | Traced | dict[str, Any]:
    from headscope.circuits import followed
    from headscope.grounding import learned
    from headscope.grounding.monitors import monitor

    try:
        found: Any = parse_json(path.read_text("utf-8"))
    except ValueError:
        raise BadInput(_unknown(path)) from None
    match found.get("format"):
        case learned.FORMAT:
            return learned.HeadWeights.load(path)
        case monitor.FORMAT:
            return monitor.Monitor.load(path)
        case followed.FORMAT:
            return followed.Traced.load(path)
        case str(name) if name.startswith("headscope "):  # written for other software
            return {"format": name, **read_json(name, path)}
        case _:
            raise BadInput(_unknown(path))


def _of_lines(path: Path) -> Pairs | list[Labelled]:
    from headscope.circuits.patching.pairs import read_pairs
    from headscope.grounding.monitors.labelled import labelled_of

    try:
        with path.open(encoding="utf-8") as file:
            first: Any = parse_json(file.readline())
    except ValueError:
        raise BadInput(_unknown(path)) from None
    if "corrupted" in first:
        return read_pairs(path)
    if "messages" in first and "label" in first:
        return labelled_of(path)
    raise BadInput(_unknown(path))


def _of_parquet(path: Path) -> HeadResult | pd.DataFrame:
    kind: type[HeadResult] | None = getattr(results, class_of(path) or "", None)
    if kind is not None:
        return kind.load(path)
    if is_table(path):
        import pandas

        return pandas.read_parquet(path)
    raise BadInput(_unknown(path))


def _unknown(path: Path) -> str:
    return f"{path} was not written by headscope; give a reading, an atlas or a result."
