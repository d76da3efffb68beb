"""Contacts in a sequence: JSONL with pairs of residues, or a folder of distance matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from headscope.corpus.bad_data import Faults
from headscope.corpus.links.linked import Linked, Pair
from headscope.corpus.sources import texts
from headscope.json_text import parse_json

CONTACT = 8.0  # ångström between beta carbons, as CASP counts contacts
APART = 6  # residues: nearer ones touch in any fold


def read_contacts(
    path: str | Path, faults: Faults, *, contact: float = CONTACT, apart: int = APART
) -> Iterator[Linked]:
    """One protein a line: `sequence`, and `contacts` [[i, j], …] or `distances`, L × L.

    Residues count from 0. Pairs nearer than `apart` in the sequence do not count.
    """
    for name, lines in texts(path, (".jsonl",)):
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            where = f"{name}:{number}"
            try:
                row: Any = parse_json(line)
            except ValueError as error:
                faults.note("malformed line", where, f"this is not JSON ({str(error)[:80]})")
                continue
            fields = cast(dict[str, Any], row) if isinstance(row, dict) else {}
            sequence = fields.get("sequence")
            if not isinstance(sequence, str) or not sequence.isalpha():
                faults.note("malformed line", where, "a protein needs a 'sequence' of letters")
                continue
            found = _pairs(fields, len(sequence), contact, apart, where, faults)
            linked = protein(sequence, found, where, faults, apart=apart)
            if linked is not None:
                yield linked


def protein(
    sequence: str,
    contacts: Iterable[tuple[int, int]],
    where: str,
    faults: Faults,
    *,
    apart: int = APART,
) -> Linked | None:
    """A sequence in which every residue may touch every other one that is far enough away."""
    units = tuple((at, at + 1) for at in range(len(sequence)))
    pairs: list[Pair] = []
    for one, two in contacts:
        if not (0 <= one < len(sequence) and 0 <= two < len(sequence)):
            message = f"[{one}, {two}] in a sequence of {len(sequence)} residues"
            faults.note("span outside", where, message)
        elif abs(one - two) < apart:
            message = f"[{one}, {two}] is nearer than {apart} residues"
            faults.remark("too near", where, message)
        else:
            pairs += [Pair(units[one], units[two]), Pair(units[two], units[one])]
    if not pairs:
        faults.note("no links", where, f"no contact joins residues {apart} or more apart")
        return None
    return Linked(sequence, tuple(dict.fromkeys(pairs)), None, units, units, where=where)


def _pairs(
    fields: dict[str, Any], length: int, contact: float, apart: int, where: str, faults: Faults
) -> list[tuple[int, int]]:
    if "distances" in fields:
        return _near(fields["distances"], length, contact, apart, where, faults)
    found: list[tuple[int, int]] = []
    listed = fields.get("contacts")
    for pair in cast(list[Any], listed) if isinstance(listed, list) else []:
        if _is_pair(pair):
            found.append((int(pair[0]), int(pair[1])))
        else:
            faults.note("malformed pair", where, f"{pair!r} is not [residue, residue]")
    return found


def _near(
    given: Any, length: int, contact: float, apart: int, where: str, faults: Faults
) -> list[tuple[int, int]]:
    """Pairs in contact, `apart` or more residues apart; null or NaN distances are unknown."""
    try:
        matrix: NDArray[np.float64] = np.array(given, dtype=np.float64)
    except (ValueError, TypeError):
        matrix = np.zeros(0)
    if matrix.shape != (length, length):
        message = f"distances of shape {matrix.shape} for {length} residues"
        faults.note("malformed line", where, message)
        return []
    with np.errstate(invalid="ignore"):
        one, two = np.nonzero(np.triu(matrix < contact, max(1, apart)))
    return list(zip(one.tolist(), two.tolist(), strict=True))


def _is_pair(given: Any) -> bool:
    return isinstance(given, list) and len(cast(list[Any], given)) == 2 and all(
        type(one) is int for one in cast(list[Any], given)
    )  # fmt: skip
