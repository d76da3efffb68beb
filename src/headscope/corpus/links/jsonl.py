"""Links in JSONL, one document a line: `text`, `pairs`, and if needed `other`, `candidates`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from headscope.corpus.bad_data import Faults
from headscope.corpus.links.linked import Linked, of_fields
from headscope.corpus.sources import texts


def read_jsonl(path: str | Path, faults: Faults) -> Iterator[Linked]:
    """Documents with links by character: {"text": …, "pairs": [[[0, 3], [8, 12]], …]}."""
    for name, lines in texts(path, (".jsonl",)):
        for number, line in enumerate(lines, 1):
            where = f"{name}:{number}"
            if not line.strip():
                continue
            try:
                row: Any = json.loads(line)
            except (ValueError, RecursionError) as error:
                faults.note("malformed line", where, f"this is not JSON ({str(error)[:80]})")
                continue
            if not isinstance(row, dict):
                faults.note("malformed line", where, "a line is an object with 'text' and 'pairs'")
                continue
            found = of_fields(cast(dict[str, Any], row), where, faults)
            if found is not None:
                yield found
