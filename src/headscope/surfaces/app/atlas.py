"""The atlas of the open model: its page, and the texts of its examples."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.atlas.atlas import Atlas
from headscope.atlas.excerpt import surrounded
from headscope.atlas.file import UNREADABLE
from headscope.errors import BadInput
from headscope.patterns.labels import in_order
from headscope.surfaces.app.kept import KeptReading
from headscope.surfaces.app.models import Models
from headscope.surfaces.app.request import NearestRequest
from headscope.views import Sending, ViewData, discover

if TYPE_CHECKING:
    import pandas as pd

LARGEST = 2**26  # bytes of a file that is sent to the app, compressed or not
MOST_VALUES = 8_000_000  # in all tables; the bundled atlas has 1.6 million
NEAREST, AROUND = 6, 6  # nearest examples, and tokens shown on each side of one


class OpenedAtlas:
    def __init__(self, atlas: Atlas, models: Models, model: str) -> None:
        self._atlas, self._models, self.model = atlas, models, model
        self._pages: dict[str, ViewData] = {}

    @property
    def labels(self) -> pd.DataFrame:
        return in_order(self._atlas.frame("labels"))

    def page(self, kind: str | None = None) -> ViewData:
        """The page of one kind's heads (or the first kind's); each page is made once."""
        kind = kind if kind in self._atlas.kinds else self._atlas.kinds[0]
        if kind not in self._pages:
            self._atlas.check(self._models.scope(self.model))
            build = discover()["atlas"].build
            self._pages[kind] = build(self._atlas, kind=kind, sending=Sending())
        return self._pages[kind]

    def file(self) -> bytes:
        """The atlas as the file that `--atlas` takes."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "built.atlas"
            self._atlas.save(path)
            return path.read_bytes()

    def text(self, document: int) -> dict[str, Any]:
        """A text of the corpus as people type it, read when an example is clicked."""
        with self._models.lock(self.model):
            first, second = self._atlas.text(self._models.scope(self.model), document)
        return {"text": first, "text_pair": second}

    def nearest(self, kept: KeptReading, at: NearestRequest) -> dict[str, Any]:
        """The examples in the corpus most similar to a head's query in the text on screen."""
        scope = self._models.scope(self.model)
        found: Any = self._atlas.nearest(
            scope, kept.reading, at.query, at.layer, at.head, n=NEAREST, kind=at.kind
        )
        examples = [
            {
                "document": int(row.document),
                "query": int(row.query),
                "likeness": float(row.likeness),
                "text": surrounded(self._atlas.document(row.document, at.kind), row.query, AROUND),
            }
            for row in found.itertuples()
        ]
        return {"places": examples, "by": str(found["by"].iloc[0])}


def opened_bytes(data: bytes, models: Models, model: str) -> OpenedAtlas:
    """An uploaded atlas file; another model's raises an error."""
    if len(data) > LARGEST:
        raise BadInput("The file is larger than the app takes; start it with --atlas FILE.")
    _check_unpacked(data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given.atlas"
        path.write_bytes(data)
        try:
            stored = Atlas.load(path)
            tables = {name: stored.frame(name) for name in stored.names}  # the file is temporary
        except BadInput as error:  # the page does not know the temporary file
            raise BadInput(str(error).replace(str(path), "The file")) from error
    atlas = Atlas(stored.description, tables)
    atlas.check(models.scope(model))
    return OpenedAtlas(atlas, models, model)


def _check_unpacked(data: bytes) -> None:
    """Check before decompressing: a small file may hold a table of a billion equal rows."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    if not zipfile.is_zipfile(io.BytesIO(data)):
        return  # opening it raises the error
    values = 0
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            size = sum(member.file_size for member in file.infolist())
            names = [name for name in file.namelist() if name.endswith(".parquet")]
            for name in names if size <= LARGEST else ():
                about = ParquetFile(io.BytesIO(file.read(name))).metadata
                for group in map(about.row_group, range(about.num_row_groups)):
                    values += sum(group.column(at).num_values for at in range(about.num_columns))
    except (ArrowException, *UNREADABLE) as error:
        raise BadInput("The file is not an atlas that can be read here.") from error
    if size > LARGEST or values > MOST_VALUES:
        raise BadInput("The atlas is too large once unpacked; start the app with --atlas FILE.")
