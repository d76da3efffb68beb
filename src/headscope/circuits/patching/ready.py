"""Three ready tasks: names, years, and agreement, each from templates and a seed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

from headscope.circuits.patching.pairs import Pair, Pairs
from headscope.errors import BadInput

NAMES = ("Mary", "John", "Tom", "James", "Sarah", "Alice", "David", "Robert", "Anna", "Peter",
         "Mark", "Paul", "Jane", "Emma", "Jack", "Kate", "Laura", "Simon")  # fmt: skip
PLACES = ("store", "school", "park", "station", "office", "market", "library", "hospital")
THINGS = ("drink", "book", "ring", "letter", "ticket", "coat", "key", "present")
NAME_FRAMES = (
    "When {a} and {b} went to the {place}, {s} gave a {thing} to",
    "Then {a} and {b} were at the {place}. {s} handed the {thing} to",
    "After {a} and {b} met at the {place}, {s} decided to give a {thing} to",
)
EVENTS = ("war", "journey", "project", "trial", "strike", "siege", "voyage", "famine")
NOUNS = (
    ("key", "keys"), ("dog", "dogs"), ("teacher", "teachers"), ("car", "cars"),
    ("picture", "pictures"), ("child", "children"), ("book", "books"), ("tree", "trees"),
)  # fmt: skip
BESIDE = ("near the house", "behind the wall", "in the garden", "beside the river", "of the king")


def _names(luck: random.Random) -> Pair:
    """Indirect object (Wang et al. 2022): the answer is the name that occurs once."""
    first, second = luck.sample(NAMES, 2)
    a, b = luck.sample([first, second], 2)
    frame, place, thing = luck.choice(NAME_FRAMES), luck.choice(PLACES), luck.choice(THINGS)

    def said(subject: str) -> str:
        return frame.format(a=a, b=b, s=subject, place=place, thing=thing)

    return Pair(said(second), said(first), first, second)


def _years(luck: random.Random) -> Pair:
    """Greater-than (Hanna et al. 2023): a war that began in 1741 ends after 41, not in 01.

    The last two digits of the beginning are 01 in the corrupted prompt.
    """
    century, year = luck.randrange(11, 19), luck.randrange(20, 80)
    event = luck.choice(EVENTS)

    def said(digits: int) -> str:
        return f"The {event} lasted from the year {century}{digits:02d} to the year {century}"

    above, below = luck.randrange(year // 10 + 1, 10), luck.randrange(0, year // 10)
    return Pair(said(year), said(1), str(above), str(below))


def _agreement(luck: random.Random) -> Pair:
    """Subject–verb agreement across a phrase: the keys near the house are, the key … is."""
    singular, plural = luck.choice(NOUNS)
    beside = luck.choice(BESIDE)
    many = luck.random() < 0.5
    clean, other = (plural, singular) if many else (singular, plural)
    right, wrong = ("are", "is") if many else ("is", "are")
    return Pair(f"The {clean} {beside}", f"The {other} {beside}", right, wrong)


TASKS: dict[str, Callable[[random.Random], Pair]] = {
    "names": _names,
    "years": _years,
    "agreement": _agreement,
}


def task(name: str, n: int = 50, seed: int = 0) -> Pairs:
    """Different pairs of prompts of a ready task.

    Parameters
    ----------
    name
        "names" (indirect object), "years" (greater than) or "agreement" (subject and verb).
    n
        How many pairs, 50 by default.
    seed
        Seed of the words that fill the templates, 0 by default.

    Returns
    -------
    Pairs
        Clean and corrupted prompts with their answers.

    Examples
    --------
    >>> import headscope as hs
    >>> len(hs.circuits.task("names", n=4).pairs)
    4
    """
    if name not in TASKS:
        raise BadInput(f"There is no task {name!r}; there are {', '.join(TASKS)}.")
    luck = random.Random(f"{name} {seed}")
    drawn = (TASKS[name](luck) for _ in itertools.repeat(None, 50 * n))
    different = dict.fromkeys(drawn)
    return Pairs(name, tuple(itertools.islice(different, n)))
