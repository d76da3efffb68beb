"""A result in one Parquet file: its table, readable anywhere, and all else in the metadata.

The metadata is JSON that refers to data frames and arrays stored as bytes; a field that is the
table is stored once. Only the classes that a result names in `holds` are created, so opening a file
never runs its code. A checksum detects damage.
"""

from __future__ import annotations

import base64
import dataclasses
import io
import json
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from headscope.arguments import need_path
from headscope.errors import BadInput
from headscope.files import (
    BLANK,
    CHECKSUM,
    TABLE,
    atomic_path,
    beside,
    check_seal,
    check_table,
    seal,
    write_table,
)

if TYPE_CHECKING:
    import pandas as pd

    from headscope.results.result import HeadResult

Result = TypeVar("Result", bound="HeadResult")
KEY = b"headscope.result"
TAG = "$"  # the key of a JSON object that encodes another type


def save(result: HeadResult, path: str | Path) -> None:
    """Write a result; a .csv file takes the table alone."""
    import pyarrow
    import pyarrow.parquet

    path = Path(path)
    if path.suffix.lower() == ".csv":
        write_table(result.table, path)
        return
    if path.suffix.lower() != ".parquet":
        raise BadInput(f"A result is written as .parquet or .csv, not as {path.name}.")
    whole = result.table
    fields = _fields(result, skipped=("table",))
    if any(field.name == "table" for field in dataclasses.fields(cast(Any, result))):
        fields["table"] = {TAG: "table"}
    ours = {KEY: json.dumps({"class": type(result).__name__, "fields": fields}), CHECKSUM: BLANK}
    table = pyarrow.Table.from_pandas(whole, preserve_index=False)
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **ours})
    with atomic_path(path) as temporary:
        pyarrow.parquet.write_table(table, temporary, compression="zstd")
        seal(temporary)


def write_output(
    result: HeadResult, path: str | Path, table: pd.DataFrame, **others: pd.DataFrame
) -> None:
    """A run's output: as .csv its main table and the others beside, else all that `load` opens."""
    found = check_table(path)
    if found.suffix.lower() != ".csv":
        result.save(found)
        return
    for name, other in others.items():
        write_table(other, beside(found, name))
    write_table(table, found)


def class_of(path: Path) -> str | None:
    """The class name of the result in a Parquet file; None if it has none."""
    return _described(path).get("class")


def is_table(path: Path) -> bool:
    """Whether a Parquet file holds a table that headscope wrote, and no result."""
    import pyarrow.parquet

    return TABLE in (pyarrow.parquet.read_schema(path).metadata or {})


def load(kind: type[Result], path: str | Path) -> Result:
    """The result of that class in a file."""
    import pyarrow
    import pyarrow.parquet

    path = need_path(path)
    ours = _described(path)
    if ours.get("class") != kind.__name__:
        held = ours.get("class", "no result of headscope")
        raise BadInput(f"{path} holds {held}, not {kind.__name__}; hs.open(path) opens it.")
    check_seal(path)
    known = {one.__name__: one for one in kind.holds}
    try:
        fields = {name: _made(value, known) for name, value in ours["fields"].items()}
        if "table" in fields:
            fields["table"] = pyarrow.parquet.read_table(path).to_pandas()
        return kind(**fields)
    except (TypeError, KeyError, ValueError, pyarrow.ArrowException) as error:
        raise BadInput(f"{path} was written by another version or damaged ({error}).") from error


def _described(path: Path) -> dict[str, Any]:
    """The description of a result in its Parquet file."""
    import pyarrow
    import pyarrow.parquet

    if not path.is_file():
        raise BadInput(f"There is no file {path}; check the path.")
    if path.suffix.lower() == ".csv":
        raise BadInput(f"{path} holds the table alone; hs.open(path) opens it.")
    try:
        metadata = pyarrow.parquet.read_schema(path).metadata or {}
        found: Any = json.loads(metadata.get(KEY, b"{}"))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise BadInput(
            f"{path} is not a Parquet file that can be read; save the result again."
        ) from error
    return found if isinstance(found, dict) else {}


def _fields(value: Any, skipped: Collection[str] = ()) -> dict[str, Any]:
    fields = (field.name for field in dataclasses.fields(value) if field.init)
    return {name: _plain(getattr(value, name)) for name in fields if name not in skipped}


def _plain(value: Any) -> Any:
    """A value as JSON; other types become an object with a tag."""
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return {TAG: "frame", "bytes": _frame_bytes(value)}
    if isinstance(value, np.ndarray):
        held = io.BytesIO()
        np.save(held, value, allow_pickle=False)
        return {TAG: "array", "bytes": base64.b64encode(held.getvalue()).decode()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {TAG: "object", "class": type(value).__name__, "fields": _fields(value)}
    if isinstance(value, Counter):
        return {TAG: "counter", "of": dict(value)}  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, tuple):
        return {TAG: "tuple", "of": [_plain(one) for one in value]}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def _made(value: Any, known: dict[str, type]) -> Any:
    """The value that `_plain` wrote."""
    if isinstance(value, list):
        return [_made(one, known) for one in value]
    if not isinstance(value, dict):
        return value
    match value.get(TAG):
        case "frame":
            return _frame(value["bytes"])
        case "array":
            return np.load(io.BytesIO(base64.b64decode(value["bytes"])), allow_pickle=False)
        case "object":
            fields = {name: _made(one, known) for name, one in value["fields"].items()}
            return known[value["class"]](**fields)
        case "counter":
            return Counter(value["of"])
        case "tuple":
            return tuple(_made(one, known) for one in value["of"])
        case _:
            return {name: _made(one, known) for name, one in value.items()}


def _frame_bytes(frame: Any) -> str:
    import pyarrow

    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    held = pyarrow.BufferOutputStream()
    options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
    with pyarrow.ipc.new_stream(held, table.schema, options=options) as stream:
        stream.write_table(table)
    return base64.b64encode(held.getvalue().to_pybytes()).decode()


def _frame(text: str) -> Any:
    import pyarrow

    with pyarrow.ipc.open_stream(base64.b64decode(text)) as stream:
        return stream.read_all().to_pandas()
