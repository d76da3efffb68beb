"""`headscope ablate`: what every head and every layer is worth to a task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.console import (
    check_csv,
    check_figure,
    err,
    open_scope,
    out,
    say_written,
    stoppable,
)

if TYPE_CHECKING:
    from rich.progress import Progress

    from headscope.edits.ablate import Ablation, What
    from headscope.edits.importance import Importance
    from headscope.reading import Scope
    from headscope.tasks.questions import Exam


def register(app: typer.Typer) -> None:
    app.command("ablate")(ablate)


def ablate(
    task_data: Annotated[
        str,
        typer.Argument(
            help="A GLUE folder, a .tsv, .csv or .jsonl file, a .txt file, or a dataset's name."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The table, a .csv file.")],
    model: Annotated[
        str | None, typer.Option(help="A hub name or folder; the bundled model if left out.")
    ] = None,
    split: Annotated[str, typer.Option(help="Which part of the data: train, dev or test.")] = "dev",
    text: Annotated[str | None, typer.Option(help="The column of the text.")] = None,
    pair: Annotated[str | None, typer.Option(help="The column of the second text.")] = None,
    label: Annotated[str | None, typer.Option(help="The column of the label.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="classification, regression, masked or next.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="accuracy, f1, matthews, pearson, spearman or loss; the task's if left out."
        ),
    ] = None,
    mode: Annotated[
        str, typer.Option(help="What a disabled head does: uniform, zero or mean.")
    ] = "uniform",
    what: Annotated[str, typer.Option(help="heads, layers, or heads,layers.")] = "heads,layers",
    gates: Annotated[
        bool, typer.Option("--importance", help="Also each head's gradient importance.")
    ] = False,
    limit: Annotated[int | None, typer.Option(help="At most so many examples.")] = None,
    batch_size: Annotated[int, typer.Option(help="Examples at a time.")] = 16,
    max_length: Annotated[int, typer.Option(help="Tokens an example is cut to.")] = 128,
    seed: Annotated[int, typer.Option(help="Of the sample and the resampling.")] = 0,
    map_file: Annotated[
        Path | None, typer.Option("--map", help="The map as .svg, .png or .pdf.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, mps.")] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Start anew, not where a run stopped.")
    ] = False,
) -> None:
    """Disable every head and every layer in turn, and see what that does to a task's score.

    Run the same command again after a stop and it goes on where it was.

    Examples:

      headscope ablate glue/RTE --model my-rte-model -o rte.csv --map rte.svg

      headscope ablate corpus.txt --kind masked -o masked.csv
    """
    from headscope.cli.console import progress
    from headscope.edits.ablate import ablate as run
    from headscope.edits.kept import Kept
    from headscope.errors import BadInput
    from headscope.files import atomic_path
    from headscope.runs.lock import only_writer
    from headscope.tasks.questions import exam
    from headscope.tasks.task import read_task

    check_csv(output, "An ablation")
    check_figure(map_file)
    asked = {part.strip() for part in what.split(",")}
    if not asked <= {"heads", "layers"}:
        raise BadInput(f"--what is heads, layers, or heads,layers, not {what!r}.")
    every: tuple[What, ...] = ("heads", "layers")
    chosen: tuple[What, ...] = tuple(part for part in every if part in asked)
    task = read_task(
        task_data, split=split, text=text, pair=pair, label=label, kind=kind, metric=metric
    ).sample(limit, seed)
    scope = open_scope(model, device)
    questions = exam(
        scope, task, metric=metric, batch_size=batch_size, max_length=max_length, seed=seed
    )
    kept = Kept.beside(
        output, scope, questions, mode=mode, what=chosen, limit=limit, seed=seed,
        batch_size=batch_size, max_length=max_length,
    )  # fmt: skip
    with only_writer(output), stoppable(), progress() as bar:
        if restart:
            kept.forget()
        found = run(
            scope, questions, what=chosen, mode=mode, seed=seed, kept=kept,
            track=lambda items, title: bar.track(items, description=title),
        )  # fmt: skip
        weighed = _weigh(scope, questions, bar) if gates and "heads" in chosen else None
        table: Any = found.scores
        if weighed is not None:
            table = table.merge(
                weighed.heads[["layer", "head", "importance"]], "left", ["layer", "head"]
            )
        with atomic_path(output) as temporary:
            table.to_csv(temporary, index=False)
        kept.forget()
    if map_file is not None:
        from headscope.figures import save

        save(found.plot("heads" if "heads" in chosen else "layers"), map_file)
        say_written(map_file)
    _summary(found)
    if weighed is not None:
        from headscope.edits.agreement import agreement

        rank = agreement(weighed, found)
        out.print(
            f"importance and damage agree to a rank correlation of {rank:.2f}", highlight=False
        )
    say_written(output)


def _weigh(scope: Scope, questions: Exam, bar: Progress) -> Importance:
    from headscope.edits.importance import importance

    def track(items: Any, title: str) -> Any:
        return bar.track(items, description=title)

    return importance(scope, questions, track=track)


def _summary(found: Ablation) -> None:
    out.print(
        f"{found.task}: {found.metric} {found.baseline:.4f} on {found.examples} examples with "
        f"nothing disabled",
        highlight=False,
        soft_wrap=True,
    )
    if not found.shared:
        err.print("This model cannot be cut into layers: every head took a full pass.")
    table: Any = found.scores
    points, digits = (" points", 2) if found.scale != 1 else ("", 4)

    def shown(difference: float) -> str:
        return f"{found.scale * difference:+.{digits}f}"

    for what, halves in found.halves.items():
        rows = table[table["disabled"] == what.removesuffix("s")]
        ordered = rows.sort_values("difference", ascending=not found.higher_is_better)
        for name, row in (("best ", ordered.iloc[0]), ("worst", ordered.iloc[-1])):
            place = f"{row['layer']}-{row['head']}" if what == "heads" else f"{row['layer']}"
            out.print(
                f"{name} {what.removesuffix('s')} {place:<6} {shown(row['difference'])}{points} "
                f"[{shown(row['low'])}, {shown(row['high'])}], "
                f"corrected p {row['p_holm']:.3f}",
                highlight=False,
                soft_wrap=True,
            )
        out.print(
            f"chosen on one half and reported on the other: best {shown(halves.chosen_best)} "
            f"becomes {shown(halves.reported_best)}, worst {shown(halves.chosen_worst)} "
            f"becomes {shown(halves.reported_worst)}",
            highlight=False,
            soft_wrap=True,
        )
