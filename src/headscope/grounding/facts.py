"""Invented facts: questions about people and towns unknown to any model, with documents.

They fit a model's head weights and test every method. Names are made of syllables, so a question
can only be answered from its documents. Each kind makes one thing hard.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Hard = Literal["plain", "short", "shared names", "paraphrase", "two documents", "wrong"]
KINDS: tuple[Hard, ...] = get_args(Hard)
FIRST = ("Mir", "Jun", "Pet", "San", "Ilk", "Tor", "Vel", "Ond", "Kas", "Rul", "Bex", "Dal")
LAST = ("ask", "ald", "olm", "vend", "bran", "quil", "stur", "marr", "telv", "norr", "hask", "grev")
TOWN = ("Vorn", "Quess", "Drast", "Karb", "Mostr", "Elv", "Tulm", "Bresk", "Ganth", "Hollim")
ENDS = ("a", "o", "el", "in", "ane", "is", "um", "ek")
TOWNS = ("heim", "ow", "bury", "ille", "grad", "stead", "mouth", "by", "ford", "arn")
WORK = ("baker", "painter", "clerk", "pilot", "nurse", "mason", "tailor", "miller", "teacher")


@dataclass(frozen=True)
class Fact:
    """A question, its documents, the answer, and the documents that the answer is in."""

    kind: Hard
    question: str
    documents: tuple[str, ...]
    answer: str
    true: tuple[int, ...]
    word: str  # a right answer contains it


def facts(
    count: int, kinds: Sequence[Hard] = ("plain",), seed: int = 0, most: int = 10
) -> list[Fact]:
    """Questions of these kinds in turn.

    Parameters
    ----------
    count
        How many.
    kinds
        "plain" (*X was born in Y.*), "short" (the answer is the town alone), "shared names" (other
        documents name the same people or towns), "paraphrase" (the fact is reworded), "two
        documents" (both are needed), "wrong" (the answer is another document's town).
    seed
        Another seed makes other names.
    most
        The most documents of a question.

    Returns
    -------
    list of Fact
        Plain ones have five documents, others three or more.
    """
    chance = random.Random(seed)
    return [_fact(chance, kinds[number % len(kinds)], most) for number in range(count)]


def _fact(chance: random.Random, kind: Hard, most: int) -> Fact:
    count = chance.randint(3, most) if kind != "plain" else 5
    people = _distinct(chance, count, _person)
    towns = _distinct(chance, count + 1, _town)
    at = chance.randrange(count)
    documents = [_born(chance, who, town) for who, town in zip(people, towns, strict=False)]
    who, town = people[at], towns[at]
    question, answer = f"Where was {who} born?", f"{who} was born in {town}."
    true: tuple[int, ...] = (at,)
    if kind == "short":
        answer = f"{town}."
    elif kind == "shared names":
        for other in (n for n in range(count) if n != at):
            documents[other] = chance.choice(
                (
                    f"{who} never visited {towns[other]}. {people[other]} was born there.",
                    f"{town} lies near {towns[other]}, the home of {people[other]}.",
                )
            )
    elif kind == "paraphrase":
        documents[at] = (
            f"The first cry of little {who} was heard in a hospital of {town}, "
            f"where the child became a {chance.choice(WORK)} later."
        )
    elif kind == "two documents":
        friend = _person(chance)
        asked, told = (at, (at + 1) % count)
        documents[asked] = f"{who} is the spouse of {friend}, a {chance.choice(WORK)}."
        documents[told] = f"{friend} was born in {town} and works as a {chance.choice(WORK)}."
        question = f"Where was the spouse of {who} born?"
        answer = f"The spouse of {who} was born in {town}."
        true = (asked, told)
    elif kind == "wrong":
        town = towns[(at + 1) % count]
        answer = f"{who} was born in {town}."
        true = ((at + 1) % count,)
    return Fact(kind, question, tuple(documents), answer, true, town)


def _born(chance: random.Random, who: str, town: str) -> str:
    return f"{who} was born in {town} and works as a {chance.choice(WORK)}."


def _person(chance: random.Random) -> str:
    first = chance.choice(FIRST) + chance.choice(ENDS)
    return f"{first} {chance.choice(LAST).title()}{chance.choice(ENDS)}"


def _town(chance: random.Random) -> str:
    return chance.choice(TOWN) + chance.choice(TOWNS)


def _distinct(chance: random.Random, count: int, make) -> list[str]:  # pyright: ignore
    found: list[str] = []
    while len(found) < count:
        one = make(chance)
        if one not in found:
            found.append(one)
    return found
