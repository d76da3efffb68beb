"""Mapped reactions as RXNMapper reads them: canonical, unmapped, with equivalent atoms.

Atoms that a molecule's symmetry exchanges are all right answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.corpus.bad_data import Faults
from headscope.corpus.links.linked import Linked, Pair, Span
from headscope.corpus.links.reactions import ATOM
from headscope.corpus.open_text import open_lines
from headscope.errors import BadInput

MAPPED = re.compile(r"[^\s,;\"]*:\d+\][^\s,;\"]*>[^\s,;\"]*>[^\s,;\"]*:\d+\][^\s,;\"]*")
RAISED = 90.0  # the package's attention_multiplier


@dataclass(frozen=True)
class Molecule:
    smiles: str
    maps: list[int]  # of atoms in written order, 0 for none
    ranks: list[int]  # equal for atoms that symmetry exchanges
    elements: list[str]
    bonds: list[tuple[int, int]]


@dataclass(frozen=True)
class Reaction:
    """A reaction with its atoms' neighbours."""

    linked: Linked
    right: NDArray[np.bool_]  # product atoms × precursor atoms
    same: NDArray[np.bool_]  # of the same element
    near: tuple[NDArray[np.bool_], NDArray[np.bool_]]  # neighbours among products, precursors


def read(path: Path, faults: Faults) -> Iterator[Reaction]:
    """The mapped reaction in each line, in any column; other lines are counted."""
    with open_lines(path) as lines:
        for number, line in enumerate(lines, 1):
            where = f"{path.name}:{number}"
            match = MAPPED.search(line)
            if match is None:
                if line.strip() and number > 1:  # the first may be a heading
                    faults.note("malformed line", where, "no atom-mapped reaction in this line")
                continue
            made = canonical(match[0], where, faults)
            if made is not None:
                yield made


def canonical(mapped: str, where: str, faults: Faults) -> Reaction | None:
    """The reaction as the package passes it to its model."""
    before, agents, after = mapped.split(">")
    try:
        precursors = [_molecule(one) for one in f"{before}.{agents}".split(".") if one]
        products = [_molecule(one) for one in after.split(".") if one]
    except ValueError as error:
        faults.note("malformed line", where, str(error))
        return None
    precursors.sort(key=lambda one: one.smiles)
    products.sort(key=lambda one: one.smiles)
    first = ".".join(one.smiles for one in precursors)
    text = f"{first}>>{'.'.join(one.smiles for one in products)}"
    spans = [match.span() for match in ATOM.finditer(text)]
    maps, ranks = _joined(precursors)
    after_maps, _ = _joined(products)
    if len(spans) != len(maps) + len(after_maps):
        faults.note("malformed line", where, "atoms and tokens do not agree")
        return None
    right = np.zeros((len(after_maps), len(maps)), bool)
    for row, number in enumerate(after_maps):
        origins = {ranks[at] for at, other in enumerate(maps) if number and other == number}
        right[row] = [rank in origins for rank in ranks]
        if number and not origins:
            faults.note("unaligned", where, f"atom {number} of the product is in no precursor")
    elements = [one for molecule in precursors for one in molecule.elements]
    of_product = [one for molecule in products for one in molecule.elements]
    asking, answering = spans[len(maps) :], spans[: len(maps)]
    linked = Linked(
        text, _pairs(right, asking, answering), None, tuple(asking), tuple(answering),
        (tuple(of_product), tuple(elements)), where=where,
    )  # fmt: skip
    same = np.array(of_product)[:, None] == np.array(elements)
    if not linked.pairs:
        faults.note("no links", where, "no atom of a product is mapped")
        return None
    return Reaction(linked, right, same, (_near(products), _near(precursors)))


def _molecule(smiles: str) -> Molecule:
    try:
        from rdkit import Chem, RDLogger  # pyright: ignore
    except ImportError as error:
        raise BadInput(
            "The study writes canonical SMILES with RDKit: pip install rdkit."
        ) from error
    log: Any = RDLogger
    log.DisableLog("rdApp.*")
    chem: Any = Chem
    made = chem.MolFromSmiles(smiles)
    if made is None:
        raise ValueError(f"{smiles[:60]!r} is not the SMILES of a molecule")
    maps = [atom.GetAtomMapNum() for atom in made.GetAtoms()]
    for atom in made.GetAtoms():
        atom.SetAtomMapNum(0)
    written = chem.MolToSmiles(made)
    order = [int(at) for at in made.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"]]
    ranks = list(chem.CanonicalRankAtoms(made, breakTies=False))
    new = {at: number for number, at in enumerate(order)}
    return Molecule(
        written,
        [maps[at] for at in order],
        [int(ranks[at]) for at in order],
        [made.GetAtomWithIdx(at).GetSymbol() for at in order],
        [(new[bond.GetBeginAtomIdx()], new[bond.GetEndAtomIdx()]) for bond in made.GetBonds()],
    )


def _joined(molecules: list[Molecule]) -> tuple[list[int], list[tuple[int, int]]]:
    """Map numbers of all atoms, and ranks that differ between molecules."""
    maps = [one for molecule in molecules for one in molecule.maps]
    ranks = [(at, rank) for at, molecule in enumerate(molecules) for rank in molecule.ranks]
    return maps, ranks


def _near(molecules: list[Molecule]) -> NDArray[np.bool_]:
    size = sum(len(one.maps) for one in molecules)
    near = np.zeros((size, size), bool)
    start = 0
    for one in molecules:
        for first, second in one.bonds:
            near[start + first, start + second] = near[start + second, start + first] = True
        start += len(one.maps)
    return near


def _pairs(right: NDArray[np.bool_], asking: list[Span], answering: list[Span]) -> tuple[Pair, ...]:
    return tuple(
        Pair(asking[row], answering[key]) for row, key in zip(*np.nonzero(right), strict=True)
    )


def assigned(scores: NDArray[np.float64], reaction: Reaction) -> NDArray[np.intp]:
    """The precursor atom of every product atom, -1 for none; `scores` adds both directions.

    As RXNMapper assigns them: the surest first. A mapped atom raises the scores between its
    neighbours and those of its origin, and no precursor atom is used twice.
    """
    products, precursors = reaction.near
    open_scores = np.where(reaction.same, scores, 0.0)
    raised = np.ones_like(open_scores)
    found = np.full(len(scores), -1, dtype=np.intp)
    for _ in range(len(scores)):
        weighted = open_scores * raised
        total = weighted.sum(1, keepdims=True)
        share = np.divide(weighted, total, out=np.zeros_like(weighted), where=total != 0)
        atom = int(share.max(1).argmax())
        origin = int(share[atom].argmax())
        if np.isclose(share[atom, origin], 0.0):
            break
        found[atom] = origin
        raised[np.ix_(products[atom], precursors[origin])] *= RAISED
        raised[atom] = 0
        raised[:, origin] = 0
    return found
