"""Atom-mapped reaction SMILES: which atom of a product came from which atom of a reactant.

A model reads reactions without map numbers, so these are removed, and with them brackets that have
no other use. Nothing else is rewritten: give canonical SMILES to a model trained on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from headscope.corpus.bad_data import Faults
from headscope.corpus.links.linked import Linked, Pair, Span
from headscope.corpus.open_text import open_lines

# an atom in brackets, a bare atom of the organic subset (aromatic in small letters)
ATOM = re.compile(r"\[(?P<inside>[^\]]*)\]|(?P<bare>Br|Cl|[BCNOPSFI]|[bcnops])")
INSIDE = re.compile(
    r"(?P<isotope>\d*)(?P<element>[A-Z][a-z]?|[a-z][a-z]?|\*)(?P<chiral>@*(?:[A-Z]{2}\d+)?)"
    r"(?P<hydrogen>H\d*)?(?P<charge>[+-]*\d*)(?::(?P<map>\d+))?"
)
COLUMN = re.compile(r"[^\s,;\"]+")
MAPPED = re.compile(r":\d+\].*>.*:\d+\]")
BARE = {"B", "C", "N", "O", "P", "S", "F", "Cl", "Br", "I", "b", "c", "n", "o", "p", "s"}


def read_reactions(path: str | Path, faults: Faults) -> Iterator[Linked]:
    """One reaction a line: the first mapped column, or the first column where none is mapped."""
    table = ".csv" in Path(path).suffixes or ".tsv" in Path(path).suffixes
    with open_lines(Path(path)) as lines:
        for number, line in enumerate(lines, 1):
            columns = COLUMN.findall(line)
            heading = number == 1 and table and ">" not in line
            if columns and not heading:
                mapped = next((one for one in columns if MAPPED.search(one)), columns[0])
                found = reaction(mapped, f"{Path(path).name}:{number}", faults)
                if found is not None:
                    yield found


def reaction(smiles: str, where: str, faults: Faults) -> Linked | None:
    """Product atoms are queries; precursor atoms (agents too) of the same element are keys."""
    sides = smiles.split(">")
    if len(sides) != 3 or not sides[0] or not sides[2]:
        faults.note("malformed line", where, "a reaction is reactants>agents>products")
        return None
    precursors = ".".join(side for side in sides[:2] if side)
    text, atoms = "", []
    starts: list[int] = []
    for side in (precursors, sides[2]):
        starts.append(len(atoms))
        written = _unmapped(side, len(text), where, faults)
        if written is None:
            return None
        text += written[0] + (">>" if len(starts) == 1 else "")
        atoms += written[1]
    before, after = atoms[: starts[1]], atoms[starts[1] :]
    by_number: dict[int, list[Atom]] = {}
    for atom in before:
        if atom.number:
            by_number.setdefault(atom.number, []).append(atom)
    pairs: list[Pair] = []
    for atom in after:
        if not atom.number:
            continue
        origins = by_number.get(atom.number, [])
        if not origins:
            message = f"atom {atom.number} of the product is in no precursor"
            faults.note("unaligned", where, message)
        pairs += [Pair(atom.span, one.span) for one in origins]
    if not pairs:
        faults.note("no links", where, "no atom of a product is mapped")
        return None
    return Linked(
        text, tuple(pairs), None, tuple(atom.span for atom in after),
        tuple(atom.span for atom in before),
        (tuple(atom.element for atom in after), tuple(atom.element for atom in before)),
        where=where,
    )  # fmt: skip


class Atom:
    """An atom as it is written: its characters, its element in capitals, its map number."""

    def __init__(self, span: Span, element: str, number: int) -> None:
        self.span, self.element, self.number = span, element.capitalize(), number


def _unmapped(
    smiles: str, offset: int, where: str, faults: Faults
) -> tuple[str, list[Atom]] | None:
    """A side without map numbers, and its atoms; None where a bracket cannot be read."""
    made, atoms, last = "", [], 0
    for match in ATOM.finditer(smiles):
        made += smiles[last : match.start()]
        last = match.end()
        element, number, written = match["bare"], 0, match[0]
        if match["inside"] is not None:
            inside = INSIDE.fullmatch(match["inside"])
            if inside is None:
                faults.note("malformed line", where, f"{match[0]!r} is not an atom")
                return None
            element, number = inside["element"], int(inside["map"] or 0)
            written = f"[{match['inside'].split(':')[0]}]"
            plain = not (inside["isotope"] or inside["chiral"] or inside["charge"])
            # [nH] differs from n; all other hydrogens follow from the valence
            if number and plain and element in BARE and not (element == "n" and inside["hydrogen"]):
                written = element
        atoms.append(Atom((offset + len(made), offset + len(made) + len(written)), element, number))
        made += written
    return made + smiles[last:], atoms
