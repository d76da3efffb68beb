"""`headscope finetune`: train a model on a task, as the paper does unless told otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.console import out, progress, say_written, stoppable


def register(app: typer.Typer) -> None:
    app.command("finetune")(finetune)


def finetune(
    task_data: Annotated[
        str, typer.Argument(help="A GLUE folder, a .tsv, .csv or .jsonl file, or a dataset's name.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder for the model.")],
    model: Annotated[
        str | None, typer.Option(help="A hub name or folder; the bundled model if left out.")
    ] = None,
    epochs: Annotated[int, typer.Option(help="Passes over the training set.")] = 3,
    batch_size: Annotated[int, typer.Option(help="Examples a step.")] = 32,
    learning_rate: Annotated[float, typer.Option(help="At its highest.")] = 5e-5,
    warmup: Annotated[float, typer.Option(help="The share of steps it rises over.")] = 0.1,
    max_length: Annotated[int, typer.Option(help="Tokens an example is cut to.")] = 128,
    dropout: Annotated[float | None, typer.Option(help="The model's own if left out.")] = None,
    seed: Annotated[int, typer.Option(help="Of the new head and the order.")] = 42,
    from_scratch: Annotated[
        bool, typer.Option("--from-scratch", help="Random weights, not the pre-trained ones.")
    ] = False,
    text: Annotated[str | None, typer.Option(help="The column of the text.")] = None,
    pair: Annotated[str | None, typer.Option(help="The column of the second text.")] = None,
    label: Annotated[str | None, typer.Option(help="The column of the label.")] = None,
    metric: Annotated[str | None, typer.Option(help="The task's if left out.")] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many training examples.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, mps.")] = None,
) -> None:
    """Fine-tune a model on a task and save it as an ordinary model folder.

    A stopped run goes on from its last checkpoint when the same command is given again. Where
    the data has a development set, the model is scored on it beside two baselines.

    Examples:

      headscope finetune glue/SST-2 -o sst2-model

      headscope finetune train.tsv --text review --label stars --model bert-base-uncased -o model
    """
    from headscope.finetuning.finetune import CHECKPOINT, Recipe
    from headscope.finetuning.finetune import finetune as run
    from headscope.tasks.task import read_task

    columns = {"text": text, "pair": pair, "label": label, "metric": metric}
    task = read_task(task_data, split="train", **columns).sample(limit)
    recipe = Recipe(
        epochs=epochs, batch_size=batch_size, learning_rate=learning_rate, warmup=warmup,
        max_length=max_length, dropout=dropout, seed=seed, from_scratch=from_scratch,
    )  # fmt: skip
    with stoppable(output / CHECKPOINT), progress() as bar:
        shown = bar.add_task(f"training on {task.name}", total=None)

        def advance(step: int, total: int, loss: float) -> None:
            words = f"training on {task.name}, loss {loss:.3f}"
            bar.update(shown, completed=step, total=total, description=words)

        run(model, task, output, recipe=recipe, device=device, progress=advance)
    say_written(output)
    if Path(task_data).is_dir():
        _score(task_data, output, task, columns, max_length, device)


def _score(
    task_data: str, folder: Path, train: object, columns: dict[str, str | None],
    max_length: int, device: str | None,
) -> None:  # fmt: skip
    from headscope.edits.answers import score
    from headscope.reading import load
    from headscope.tasks.baselines import floor
    from headscope.tasks.questions import exam
    from headscope.tasks.task import Task, read_task

    assert isinstance(train, Task)
    dev = read_task(task_data, split="dev", **columns)
    scope = load(folder, device=device)
    reached = score(scope, exam(scope, dev, max_length=max_length))
    below = floor(train, dev)
    out.print(
        f"{dev.name}, {len(dev)} development examples: {dev.metric} {reached:.4f} "
        f"(always the commonest answer {below.majority:.4f}, bag of words "
        f"{below.bag_of_words:.4f})",
        highlight=False,
        soft_wrap=True,
    )
