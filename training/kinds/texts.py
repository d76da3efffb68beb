"""The texts behind the labelled maps: sentences, pairs and reactions made from a seed.

Nothing is quoted from anywhere, so labels can name a text by its number and anyone can make it
again: `text(17)` is always the same.
"""

from __future__ import annotations

import random

PEOPLE = [
    "the old sailor",
    "Maria",
    "my neighbour",
    "the young doctor",
    "a tired farmer",
    "Ahmed",
    "the committee",
    "her brother",
    "the librarian",
    "our teacher",
    "nobody",
    "the twins",
]
VERBS = [
    "bought",
    "repaired",
    "forgot",
    "painted",
    "described",
    "lost",
    "borrowed",
    "carried",
    "photographed",
    "ignored",
    "sold",
    "examined",
]
THINGS = [
    "a wooden boat",
    "the broken clock",
    "three letters",
    "an expensive violin",
    "the map",
    "a basket of strawberries",
    "the blue umbrella",
    "some unreadable handwriting",
    "a photograph of the harbour",
    "the kitchen table",
    "an old dictionary",
    "his bicycle",
]
PLACES = [
    "at the store",
    "near the river",
    "in the village",
    "behind the museum",
    "on the train",
    "at home",
    "in a crowded market",
    "beside the lighthouse",
    "under the bridge",
]
TIMES = [
    "yesterday",
    "last winter",
    "before breakfast",
    "in the afternoon",
    "every Sunday",
    "after the storm",
    "at midnight",
    "during the holidays",
]
REASONS = [
    "because it was raining",
    "although nobody had asked",
    "while the others were sleeping",
    "since the prices had fallen",
    "so that the children could see it",
    "which surprised everyone",
    "as if nothing had happened",
]
JOINTS = [", and ", ", but ", "; then ", ", so "]
MOLECULES = [
    "CCO",
    "CC(=O)O",
    "c1ccccc1Br",
    "OB(O)c1ccccc1",
    "CC(=O)Cl",
    "NCc1ccccc1",
    "CCN(CC)CC",
    "O=C(O)c1ccc(F)cc1",
    "CC(C)(C)OC(=O)N1CCNCC1",
    "Clc1ncccn1",
    "COc1ccc(N)cc1",
    "CI",
    "C1CCOC1",
    "O=C(Cl)c1ccccc1",
    "CN(C)C=O",
    "Brc1ccc(I)cc1",
    "CC(C)=O",
    "NC1CCCCC1",
]
PRODUCTS = [
    "CC(=O)OCC",
    "c1ccc(-c2ccccc2)cc1",
    "CC(=O)NCc1ccccc1",
    "O=C(Nc1ccc(OC)cc1)c1ccccc1",
    "CC(C)(C)OC(=O)N1CCN(c2ncccn2)CC1",
    "COc1ccc(NC(C)C)cc1",
    "O=C(NC1CCCCC1)c1ccc(F)cc1",
]

SENTENCES = range(60)
PAIRS = range(60, 160)
PASSAGES = range(160, 200)
REACTIONS = range(200, 240)


def text(number: int) -> tuple[str, str | None]:
    """The text of that number: (A, None), or (A, B) for a sentence pair."""
    draw = random.Random(number)
    if number in SENTENCES:
        return _sentence(draw, draw.choice([1, 1, 2])), None
    if number in PAIRS:
        first = _sentence(draw, draw.choice([1, 1, 2]))
        return first, _sentence(draw, draw.choice([1, 2]), first)
    if number in PASSAGES:
        return " ".join(
            _sentence(draw, draw.choice([1, 2])) for _ in range(draw.choice([3, 4]))
        ), None
    if number in REACTIONS:
        left = ".".join(draw.sample(MOLECULES, draw.choice([2, 3, 4])))
        return f"{left}>>{draw.choice(PRODUCTS)}", None
    raise ValueError(f"There is no text {number}.")


def _sentence(draw: random.Random, clauses: int, before: str = "") -> str:
    parts: list[str] = []
    for _ in range(clauses):
        who, thing = draw.choice(PEOPLE), draw.choice(THINGS)
        shared = [t for t in THINGS if t in before]
        if shared and draw.random() < 0.6:
            thing = draw.choice(shared)
        clause = f"{who} {draw.choice(VERBS)} {thing}"
        clause += f" {draw.choice(PLACES)}" if draw.random() < 0.7 else ""
        clause += f" {draw.choice(TIMES)}" if draw.random() < 0.5 else ""
        clause += f" {draw.choice(REASONS)}" if draw.random() < 0.4 else ""
        parts.append(clause)
    whole = parts[0] + "".join(draw.choice(JOINTS) + part for part in parts[1:])
    return whole[0].upper() + whole[1:] + "."
