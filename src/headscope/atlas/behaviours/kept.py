"""Behaviours in the file of an atlas: four tables, and how they were made in its description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headscope.atlas.behaviours.result import Behaviours

if TYPE_CHECKING:
    import pandas as pd

    from headscope.atlas.atlas import Atlas

# tables of the file, by the field of the result
TABLES = {
    "found": "behaviours",
    "points": "behaviour_points",
    "profiles": "behaviour_profiles",
    "positions": "behaviour_positions",
}


def tables_of(found: Behaviours) -> dict[str, pd.DataFrame]:
    """The four tables, each with the kind of attention."""
    tables: dict[str, pd.DataFrame] = {}
    for field, name in TABLES.items():
        frame: Any = getattr(found, field).drop(columns="kind", errors="ignore")
        frame.insert(0, "kind", found.kind)
        tables[name] = frame
    return tables


def described(found: Behaviours) -> dict[str, str]:
    return {"kind": found.kind, "by": found.by, "plane": found.plane}


def kept(atlas: Atlas) -> Behaviours | None:
    """The behaviours in an atlas; None without any."""
    about: Mapping[str, str] = atlas.description.get("behaviours") or {}
    if not about or not all(atlas.has(name) for name in TABLES.values()):
        return None
    fields = {field: atlas.frame(name) for field, name in TABLES.items()}
    for field in ("points", "profiles", "positions"):
        fields[field] = fields[field].drop(columns="kind")
    return Behaviours(
        model=atlas.model, kind=about["kind"], by=about["by"], plane=about["plane"], **fields
    )
