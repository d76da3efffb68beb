"""`headscope finetune`: train a model on a task, by default as in the paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import check_folder, check_name, check_numbers
from headscope.cli.shared.console import open_scope, out, say_written

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.tasks.task import Task


def register(app: typer.Typer) -> None:
    app.command("finetune")(finetune)


def finetune(
    task_data: options.TaskData,
    output: Annotated[Path, options.output("The folder for the model.")],
    model: options.Model = None,
    epochs: Annotated[int, typer.Option(help="Passes over the training set.")] = 3,
    batch_size: Annotated[int, typer.Option(help="Examples a step.")] = 32,
    learning_rate: Annotated[float, typer.Option(help="Learning rate after the warm-up.")] = 5e-5,
    warmup: Annotated[
        float, typer.Option(help="Share of the steps in which the learning rate rises.")
    ] = 0.1,
    max_tokens: options.MaxTokens = 128,
    dropout: Annotated[float | None, typer.Option(help="The model's own if left out.")] = None,
    seed: options.Seed = 42,
    from_scratch: Annotated[
        bool, typer.Option("--from-scratch", help="Random weights, not the pre-trained ones.")
    ] = False,
    text: options.TextColumn = None,
    text_pair: options.TextPairColumn = None,
    label: options.LabelColumn = None,
    metric: options.MetricName = None,
    limit: options.Limit = None,
    sample: options.Sample = None,
    device: options.Device = None,
    trust_remote_code: options.TrustRemoteCode = False,
    restart: options.Restart = False,
) -> None:
    """Fine-tune a model on a task and save it as an ordinary model folder.

    A stopped run resumes with the same command. If the data has a development set, the model is
    scored on it beside two baselines.

    Examples:

      headscope finetune glue/SST-2 -o sst2-model

      headscope finetune train.tsv --text review --label stars --model bert-base-uncased -o model
    """
    from headscope.finetuning.finetune import finetune as run
    from headscope.finetuning.training import Recipe
    from headscope.tasks.files import read_task

    check_folder(output)
    check_name(task_data)
    check_numbers(limit=limit, max_tokens=max_tokens)
    length = max_tokens or 128
    columns = {"text": text, "text_pair": text_pair, "label": label, "metric": metric}
    task = read_task(task_data, split="train", **columns).first(limit).sample(sample, seed)
    recipe = Recipe(
        epochs=epochs, batch_size=batch_size, learning_rate=learning_rate, warmup=warmup,
        max_tokens=length, dropout=dropout, seed=seed, from_scratch=from_scratch,
    )  # fmt: skip
    run(model, task, output, recipe=recipe, device=device, restart=restart,
        trust_remote_code=trust_remote_code)  # fmt: skip
    say_written(output)
    if Path(task_data).is_dir():
        scope = open_scope(str(output), device, trust_remote_code=trust_remote_code)
        _score(task_data, scope, task, columns, length)


def _score(
    task_data: str, scope: Scope, train: Task, columns: dict[str, str | None], max_tokens: int
) -> None:
    from headscope.edits.answers import score
    from headscope.tasks.baselines import baselines
    from headscope.tasks.files import read_task
    from headscope.tasks.questions import make_questions

    dev = read_task(task_data, split="dev", **columns)
    reached = score(scope, make_questions(scope, dev, max_tokens=max_tokens))
    below = baselines(train, dev)
    out.print(
        f"{dev.name}, {len(dev)} development examples: {dev.metric} {reached:.4f} "
        f"(always the commonest answer {below.majority:.4f}, bag of words "
        f"{below.bag_of_words:.4f})",
        highlight=False,
        soft_wrap=True,
    )
