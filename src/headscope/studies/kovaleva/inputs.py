"""The study's inputs: data, fine-tuned models, the paper's numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.tasks.task import Task

PAPER_LIMIT = 1000  # examples of a development set the paper analyses
TASKS = ("MRPC", "STS-B", "SST-2", "QQP", "RTE", "QNLI", "MNLI", "CoLA")

# a few sentence pairs, so that the short version of the study runs without data
PAIRS = (
    ("The old bridge was closed after the storm.", "Nobody could cross the river on Monday."),
    ("She put the letter in the drawer and locked it.", "The letter was not on the table."),
    ("A farmer sold three sheep at the market.", "The market was full of animals."),
    ("The committee did not accept the proposal.", "Its members had never seen such a plan."),
    ("He gave his sister a map of the city.", "She used it to find the museum."),
    ("The children were playing in the garden.", "Rain did not stop their game."),
    ("Our train left the station two hours late.", "We missed the beginning of the concert."),
    ("The doctor examined the patient carefully.", "Nothing serious was found."),
    ("The company opened a new factory in the north.", "It will make parts for aircraft."),
    ("They painted the kitchen walls green.", "The kitchen looked brighter than before."),
    ("The river rises in the mountains and flows west.", "It reaches the sea near the capital."),
    ("A young writer won the prize this year.", "Her first novel was about a lighthouse."),
    ("The teacher asked the pupils to read aloud.", "One of them refused to read."),
    ("Snow covered the fields for a month.", "The wheat was late that spring."),
    ("The captain ordered the crew to wait.", "They waited until the fog had gone."),
    ("I went to the store.", "At the store, I bought fresh strawberries."),
    ("The film was long, dull and badly acted.", "Few people stayed until the end."),
    ("The library keeps letters of two kings.", "Scholars may read them on request."),
    ("Her brother repaired the clock himself.", "It has kept good time ever since."),
    ("The town council will build a school.", "The school will stand beside the park."),
)


@dataclass(frozen=True)
class KovalevaInputs:
    """A scope, a data folder, and models fine-tuned from the scope's own, by task."""

    scope: Scope
    data: Path | None
    limit: int
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])  # task -> scope or folder

    @cached_property
    def tasks(self) -> dict[str, Task]:
        """The available development sets, at most `limit` examples of each."""
        from headscope.errors import BadInput
        from headscope.tasks.glue import read_glue

        found: dict[str, Task] = {}
        for name in TASKS:
            folder = self.folder("glue", name)
            if folder is None:
                continue
            try:
                found[name] = read_glue(folder).sample(self.limit)
            except BadInput:
                continue  # a folder without a development set is listed as absent
        return found

    @cached_property
    def tuned(self) -> dict[str, Scope]:
        """The available fine-tuned models, for tasks with data."""
        from headscope.reading import load

        found: dict[str, Scope] = {}
        for name in self.tasks:
            source = self.given.get(name) or self.folder("finetuned", name)
            if source is not None:
                found[name] = load(source) if isinstance(source, (str, Path)) else source
        return found

    def folder(self, *parts: str) -> Path | None:
        """A path in the data folder, if it exists."""
        if self.data is None:
            return None
        path = self.data.joinpath(*parts)
        return path if path.exists() else None

    @property
    def texts(self) -> tuple[str, list[tuple[str, str]]]:
        """Sentence pairs for experiments without a task, and their name."""
        for name, task in self.tasks.items():
            if task.text_pairs is not None:
                return f"{name}'s development set", list(
                    zip(task.texts, task.text_pairs, strict=True)
                )
        return "twenty sentence pairs of our own", list(PAIRS)

    @cached_property
    def paper(self) -> dict[str, Any]:
        """The paper's numbers; the file names their source."""
        file = resources.files("headscope.studies.kovaleva") / "published.json"
        return json.loads(file.read_text(encoding="utf-8"))


def how_to_supply(task: str) -> str:
    """How to supply the model that an experiment lacked."""
    return (
        f"`headscope finetune DATA/glue/{task} --model MODEL -o DATA/finetuned/{task}` makes the "
        "model that is missing; the study finds it there."
    )
