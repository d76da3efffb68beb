"""Pairs of prompts: one with the right answer, one changed so that the answer should change.

A file of pairs is JSON Lines, one object a line::

    {"clean": "When Mary and John went …, John gave a drink to",
     "corrupted": "When Mary and John went …, Mary gave a drink to",
     "answer": "Mary", "wrong": "John"}

`wrong` is optional: without it the answer's logit counts alone. Further fields name positions: a
whole number is a token's; a text fills the markers `{S2}` of both prompts, as in a table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from headscope.circuits.logits.target import token_id
from headscope.circuits.prompts import Prompt, Row, Where, filled, is_table, rows_of
from headscope.corpus.open_text import open_lines
from headscope.errors import BadInput
from headscope.files import atomic_path
from headscope.json_text import parse_json
from headscope.tasks.answer_metrics import AnswerMetric, answer_metric

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.tasks.questions import Questions


_FITS = {"clean": str, "corrupted": str, "answer": str | int, "wrong": str | int | None}


@dataclass(frozen=True)
class Pair:
    """Two prompts of equal length, the answer to the first, and the wrong answer."""

    clean: str
    corrupted: str
    answer: str | int
    wrong: str | int | None = None
    marks: tuple[tuple[str, Where, Where], ...] = ()  # named positions: clean, corrupted

    def prompt(self, which: Literal["clean", "corrupted"]) -> Prompt:
        """One of the two texts with its named positions."""
        if which == "clean":
            return Prompt(self.clean, tuple((name, at) for name, at, _ in self.marks))
        return Prompt(self.corrupted, tuple((name, at) for name, _, at in self.marks))


@dataclass(frozen=True)
class Pairs:
    """A named list of pairs."""

    name: str
    pairs: tuple[Pair, ...]

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        first = f", first {self.pairs[0].clean!r}" if self.pairs else ""
        return f"<Pairs {self.name}: {len(self)} pairs{first}>"

    def save(self, path: str | Path) -> None:
        """Write the pairs as JSON Lines."""
        with atomic_path(path) as temporary:
            lines = [json.dumps(_plain(pair), ensure_ascii=False) for pair in self.pairs]
            temporary.write_text("\n".join(lines) + "\n", "utf-8")

    def questions(self, scope: Scope, metric: object = None) -> Questions:
        """The clean prompts as questions, for `hs.ablate` and `hs.importance`."""
        from headscope.circuits.patching.batch import questions_of

        return questions_of(scope, self, metric)

    def fitting(self, scope: Scope) -> Pairs:
        """The pairs whose prompts have equally many tokens and whose answers are one token each."""
        kept = [pair for pair in self.pairs if _fits(scope, pair)]
        if not kept:
            raise BadInput(
                f"No pair of {self.name} fits {scope.name}: its prompts differ in length or its "
                "answers are several tokens; write pairs for this model's vocabulary."
            )
        return Pairs(self.name, tuple(kept))


def _plain(pair: Pair) -> dict[str, Any]:
    held = vars(pair)
    return held if pair.marks else {name: one for name, one in held.items() if name != "marks"}


def pair_of(row: Row) -> Pair:
    """A table's row, or a line of a file: both prompts filled in, with the positions they name."""
    clean, corrupted = filled(row, "clean"), filled(row, "corrupted")
    other = dict(corrupted.marks)
    named = [(name, at, other[name]) for name, at in clean.marks if name in other]
    known = {name for name, _, _ in named}
    for name, at, there in row.get("marks") or ():
        if name not in known:
            named.append((name, _where(at), _where(there)))
    return Pair(
        cast(str, clean.text), cast(str, corrupted.text), row["answer"], row.get("wrong"),
        tuple(named),
    )  # fmt: skip


def _where(given: Any) -> Where:
    return int(given) if isinstance(given, int) else (int(given[0]), int(given[1]))


def _fits(scope: Scope, pair: Pair) -> bool:
    lengths = {len(scope.tokenizer(text)["input_ids"]) for text in (pair.clean, pair.corrupted)}
    try:
        answers = [token_id(scope, one) for one in (pair.answer, pair.wrong) if one is not None]
    except BadInput:
        return False
    return len(lengths) == 1 and len(set(answers)) == len(answers)


def read_pairs(path: str | Path) -> Pairs:
    """The pairs of prompts in a JSON Lines file.

    Parameters
    ----------
    path
        A file with the keys clean, corrupted and answer on each line; wrong is optional.

    Returns
    -------
    Pairs
        The pairs, named after the file.

    Examples
    --------
    >>> import json, headscope as hs
    >>> from pathlib import Path
    >>> pair = {"clean": "Paris is in", "corrupted": "Rome is in", "answer": "France"}
    >>> _ = Path("capitals.jsonl").write_text(json.dumps(pair))
    >>> len(hs.circuits.read_pairs("capitals.jsonl").pairs)
    1
    """
    path = Path(path)
    if not path.is_file():
        raise BadInput(f"There is no file {path}; check the path.")
    with open_lines(path) as lines:
        return Pairs(path.stem, tuple(_pairs_of(path, lines)))


def _pairs_of(path: Path, lines: Iterable[str]) -> list[Pair]:
    pairs: list[Pair] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            given = parse_json(line)
            known = {name: given.get(name) for name in ("clean", "corrupted", "answer", "wrong")}
        except (ValueError, AttributeError) as error:
            raise BadInput(f"Line {number} of {path} is not a JSON object.") from error
        missing = [name for name in ("clean", "corrupted", "answer") if known[name] is None]
        if missing:
            raise BadInput(f"Line {number} of {path} has no {missing[0]!r}.")
        odd = [name for name, fits in _FITS.items() if not isinstance(known[name], fits)]
        if odd:
            raise BadInput(f"Line {number} of {path} has no text as {odd[0]!r}.")
        pairs.append(pair_of(given))
    if not pairs:
        raise BadInput(f"{path} holds no pairs of prompts.")
    return pairs


def brings_answers(clean: Any) -> bool:
    """Whether prompts come with their answers: pairs do, and a table with a column `answer`."""
    return isinstance(clean, Pairs) or (is_table(clean) and "answer" in rows_of(clean)[0])


def as_pairs(clean: Any, corrupted: str | Sequence[str] | None, answers: object) -> Pairs:
    """Prompts and answers in any accepted form, as pairs."""
    if isinstance(clean, Pairs):
        return clean
    if is_table(clean):
        rows = rows_of(clean)
        missing = [name for name in ("clean", "corrupted") if name not in rows[0]]
        if missing:
            raise BadInput(
                f"The table has no column {missing[0]}; its prompts are the columns clean and "
                "corrupted, its answers the columns answer and wrong."
            )
        if "answer" not in rows[0]:
            each = _answers(answers, len(rows))
            rows = [{**row, **_named(one)} for row, one in zip(rows, each, strict=True)]
        return Pairs("prompts", tuple(pair_of(row) for row in rows))
    one, other = _prompts(clean, "clean"), _prompts(corrupted, "corrupted")
    if len(one) != len(other):
        raise BadInput(
            f"There are {len(one)} clean and {len(other)} corrupted prompts; give the "
            "same number of both."
        )
    each = _answers(answers, len(one))
    made = [Pair(a, b, **_named(c)) for a, b, c in zip(one, other, each, strict=True)]
    return Pairs("prompts", tuple(made))


def asked_of(
    clean: Any, corrupted: Any, metric: object, answers: object
) -> tuple[Pairs, AnswerMetric]:
    """The pairs and the metric; `metric` holds the answers if nothing else does."""
    if answers is not None or brings_answers(clean):
        return as_pairs(clean, corrupted, answers), answer_metric(metric)
    if callable(metric) or isinstance(metric, AnswerMetric):
        raise BadInput("Give the answers beside the metric: answers=('Mary', 'John').")
    return as_pairs(clean, corrupted, metric), answer_metric(None)


def _answers(answers: object, count: int) -> list[Any]:
    """The answers to each prompt: the same for all, or a list with one each."""
    each: Any = [answers] * count if _is_answer(answers) else answers
    if not isinstance(each, Sequence) or not each or not all(_is_answer(item) for item in each):
        raise BadInput("Give the answers: a token, or two: ('Mary', 'John').")
    if len(each) != count:
        raise BadInput(f"There are {count} pairs and {len(each)} answers; give one per pair.")
    return list(each)


def _named(answer: Any) -> Row:
    several = [answer] if isinstance(answer, str | int) else list(answer)
    return dict(zip(("answer", "wrong"), several, strict=False))


def _is_answer(given: Any) -> bool:
    """Whether it is a token, or a right and a wrong one."""
    if isinstance(given, str | int):
        return True
    several = isinstance(given, Sequence) and 1 <= len(given) <= 2
    return several and all(isinstance(item, str | int) for item in given)


def _prompts(given: object, name: str) -> list[str]:
    """One prompt or several, as a list of texts."""
    found = [given] if isinstance(given, str) else given
    if not isinstance(found, Sequence) or isinstance(found, bytes):
        raise BadInput(f"Give the {name} prompts as a text or a list of texts.")
    texts = list(cast("Sequence[object]", found))
    if not all(isinstance(one, str) and one.strip() for one in texts):
        raise BadInput(f"One of the {name} prompts is empty or not a text; give a text for each.")
    return cast("list[str]", texts)
