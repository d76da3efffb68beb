"""The file of an atlas: Parquet tables and a JSON description, in a zip or a folder.

Everything opens with pandas alone; `docs/how-to/atlas.md` says what each column is. The same
content gives the same bytes: members have no times and a fixed order.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.arguments import need_path
from headscope.errors import BadInput
from headscope.files import atomic_path

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
DESCRIPTION = "atlas.json"
_HEAD = ("kind", "layer", "head")
_KEYS = ("keys", "weights")
_BEHAVIOUR = (*_HEAD, "behaviour")
# columns that each table needs; some have more
COLUMNS = {
    "heads": (*_HEAD, "measure", "value", "error", "count"),
    "labels": (*_HEAD, "pattern", "label", "score", "lift", "error", "p", "documents", "labelled"),
    "examples": (*_HEAD, "measure", "decile", "rank", "value", "document", "query", *_KEYS),
    "deciles": (*_HEAD, "measure", "decile", "low", "high", "share", "positions"),
    "documents": ("kind", "document", "tokens", "ids", "segments", "classes", "continues"),
    "profiles": (*_HEAD, "profile", "name", "other", "count", "expected", "lift", "p", "weight"),
    "distances": (*_HEAD, "other_layer", "other_head", "distance"),
    "groups": (*_HEAD, "x", "y", "group"),
    "behaviours": (*_BEHAVIOUR, "share", "label", "score", "lift", "weight"),
    "behaviour_points": (
        *_BEHAVIOUR, "position", "query_x", "query_y", "key_x", "key_y", "key", "key_token",
        "weight",
    ),
    "behaviour_profiles": (*_BEHAVIOUR, "profile", "name", "count", "expected", "lift"),
    "behaviour_positions": (
        "kind", "position", "document", "query", "query_token", "start", "tokens", "continues",
    ),
}  # fmt: skip
TABLES = tuple(COLUMNS)
# the type of a column in any table; other columns hold numbers, which may be missing
TEXT = (
    "kind", "measure", "pattern", "label", "profile", "name", "other", "query_token", "key_token",
)  # fmt: skip
WHOLE = (
    "layer", "head", "other_layer", "other_head", "decile", "rank", "document", "query",
    "behaviour", "position", "key", "start",
)  # fmt: skip
LISTS = (*_KEYS, "tokens", "ids", "segments", "classes", "continues")
FLAGS = ("labelled",)
REQUIRED = ("heads", "examples", "documents", "profiles")
# errors that a truncated or changed file raises; zipfile has no class of its own for some
UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip can store


def write(path: str | Path, description: Mapping[str, Any], tables: Mapping[str, Any]) -> None:
    """Write a zip; a reader never sees half of it."""
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w") as file:
        about = {"format": "headscope atlas", "version": FORMAT, **description}
        text = json.dumps(about, indent=1, ensure_ascii=False, sort_keys=True)
        _member(file, DESCRIPTION, text.encode(), zipfile.ZIP_DEFLATED)
        for name in TABLES:
            if name in tables:
                # Parquet is compressed already
                _member(file, f"{name}.parquet", _parquet(tables[name]), zipfile.ZIP_STORED)


class Store:
    """An atlas on disk, a zip or a folder; a table is read on first use."""

    def __init__(self, path: str | Path) -> None:
        self.path = need_path(path)
        if not self.path.exists():
            raise BadInput(f"There is no atlas {path}; make one with `headscope atlas`.")
        if not self.path.is_dir() and not zipfile.is_zipfile(self.path):
            raise BadInput(f"{path} is not an atlas: it is neither a zip nor a folder of tables.")
        self.description = self._described()
        self.names = [name for name in TABLES if _has(self.path, f"{name}.parquet")]
        missing = [name for name in REQUIRED if name not in self.names]
        if missing:
            raise BadInput(f"{path} is not an atlas: it has no {missing[0]}.parquet.")

    def table(self, name: str) -> pd.DataFrame:
        import pyarrow
        import pyarrow.parquet

        try:
            found = pyarrow.parquet.read_table(io.BytesIO(self._bytes(f"{name}.parquet")))
        except (pyarrow.ArrowException, *UNREADABLE) as error:
            raise BadInput(f"{self.path} is damaged: {name}.parquet cannot be read.") from error
        amiss = _amiss(name, found)
        if amiss is not None:
            raise BadInput(f"{self.path} is damaged: {name}.parquet {amiss}; make the atlas again.")
        return found.to_pandas()

    def _described(self) -> dict[str, Any]:
        try:
            found = json.loads(self._bytes(DESCRIPTION))
        except (KeyError, FileNotFoundError) as error:
            raise BadInput(f"{self.path} is not an atlas: it has no {DESCRIPTION}.") from error
        except (ValueError, *UNREADABLE) as error:
            raise BadInput(
                f"{self.path} is not an atlas: its {DESCRIPTION} cannot be read."
            ) from error
        if not isinstance(found, dict) or found.get("format") != "headscope atlas":
            raise BadInput(
                f"{self.path} is not an atlas: its {DESCRIPTION} describes something else."
            )
        version = found.get("version")
        if not isinstance(version, int):
            raise BadInput(
                f"{self.path} is damaged: its {DESCRIPTION} has no version; make the atlas again."
            )
        if version > FORMAT:
            raise BadInput(f"{self.path} was made by a newer headscope; upgrade to open it.")
        for name in ("segments", "tokens"):
            if not isinstance(found.get(name, 0), int):
                raise BadInput(
                    f"{self.path} is damaged: its {DESCRIPTION} has no count of {name}; make "
                    "the atlas again."
                )
        return found

    def _bytes(self, member: str) -> bytes:
        if self.path.is_dir():
            return (self.path / member).read_bytes()
        with zipfile.ZipFile(self.path) as file:
            return file.read(member)


def is_atlas(path: str | Path) -> bool:
    """Whether a file or folder of any name describes itself as one."""
    try:
        return _has(Path(path), DESCRIPTION)
    except (OSError, ValueError, zipfile.BadZipFile):  # no such file, or not a zip
        return False


def _has(path: Path, member: str) -> bool:
    if path.is_dir():
        return (path / member).is_file()
    with zipfile.ZipFile(path) as file:
        return member in file.namelist()


def _amiss(name: str, table: Any) -> str | None:
    """What is wrong with a readable table; None if nothing is."""
    from pyarrow import types

    wants: dict[str, tuple[str, Any]] = {
        **dict.fromkeys(TEXT, ("text", types.is_string)),
        **dict.fromkeys(WHOLE, ("whole numbers", types.is_integer)),
        **dict.fromkeys(LISTS, ("lists", types.is_list)),
        **dict.fromkeys(FLAGS, ("yes or no", types.is_boolean)),
    }
    for column in COLUMNS[name]:
        if column not in table.column_names:
            return f"has no column {column!r}"
        held, missing = table.column(column).type, table.column(column).null_count
        what, fits = wants.get(column, ("numbers", _is_number))
        if len(table) and (not fits(_plain(held)) or (missing and column in wants)):
            return f"has a column {column!r} that holds no {what}"
    return "has no rows" if name == "heads" and not len(table) else None


def _plain(held: Any) -> Any:
    """The type of an Arrow column, the same for all of Arrow's variants of it."""
    import pyarrow

    if pyarrow.types.is_dictionary(held):
        held = held.value_type
    if pyarrow.types.is_large_string(held) or pyarrow.types.is_string_view(held):
        return pyarrow.string()
    if pyarrow.types.is_large_list(held) or pyarrow.types.is_fixed_size_list(held):
        return pyarrow.list_(held.value_type)
    return held


def _is_number(held: Any) -> bool:
    from pyarrow import types

    return types.is_integer(held) or types.is_floating(held)


def _member(file: zipfile.ZipFile, name: str, data: bytes, compression: int) -> None:
    about = zipfile.ZipInfo(name, _EPOCH)
    about.compress_type = compression
    about.external_attr = 0o644 << 16
    file.writestr(about, data)


def _parquet(frame: pd.DataFrame) -> bytes:
    import pyarrow
    import pyarrow.parquet

    into = io.BytesIO()
    table = pyarrow.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    pyarrow.parquet.write_table(table, into, compression="zstd", compression_level=9)
    return into.getvalue()
