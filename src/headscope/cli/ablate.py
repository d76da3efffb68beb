"""`headscope ablate`: what every head and every layer is worth to a task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import check_figure, check_name, check_numbers, check_output
from headscope.cli.shared.console import draw, err, open_scope, out, say_written, tested
from headscope.discovery import names
from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.edits.ablate import Ablation, What
    from headscope.edits.importance import Importance


# these modes need arrays, which cannot be typed
MODES = tuple(
    name for name in names("headscope.edits.modes") if name not in ("given", "emphasis", "weight")
)


def register(app: typer.Typer) -> None:
    app.command("ablate")(ablate)


def ablate(
    task_data: options.TaskData,
    output: Annotated[Path, options.output("The table: .csv or .parquet")],
    model: options.Model = None,
    split: Annotated[str, typer.Option(help="Which part of the data: train, dev or test.")] = "dev",
    text: options.TextColumn = None,
    text_pair: options.TextPairColumn = None,
    label: options.LabelColumn = None,
    task_kind: Annotated[
        Literal["classification", "regression", "masked", "next"] | None,
        typer.Option(help="What is asked of the model; default: what the data are made for."),
    ] = None,
    metric: options.MetricName = None,
    mode: Annotated[
        str, typer.Option(help=f"What a disabled head does: {', '.join(MODES)}.")
    ] = "uniform",
    what: Annotated[str, typer.Option(help="heads, layers, or heads,layers.")] = "heads,layers",
    gates: Annotated[
        bool, typer.Option("--importance", help="Also each head's gradient importance.")
    ] = False,
    limit: options.Limit = None,
    sample: options.Sample = None,
    batch_size: Annotated[int, typer.Option(help="Examples at a time.")] = 16,
    max_tokens: options.MaxTokens = 128,
    seed: options.Seed = 0,
    map_file: options.MapFile = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    restart: options.Restart = False,
) -> None:
    """Disable every head and every layer in turn, and measure a task's score.

    A stopped run resumes with the same command.

    Examples:

      headscope ablate glue/RTE --model my-rte-model -o rte.csv --map rte.svg

      headscope ablate corpus.txt --task-kind masked -o masked.csv
    """
    check_output(output, (".csv", ".parquet"), "An ablation")
    check_figure(map_file)
    check_name(task_data)
    check_numbers(limit=limit, max_tokens=max_tokens, batch_size=batch_size)
    chosen = _parts(what)
    from headscope.tasks.files import read_task

    task = read_task(
        task_data, split=split, text=text, text_pair=text_pair, label=label, kind=task_kind,
        metric=metric,
    ).first(limit).sample(sample, seed)  # fmt: skip
    scope = open_scope(model, device, dtype, trust_remote_code)
    from headscope.edits.ablate import ablate as run
    from headscope.tasks.questions import make_questions

    questions = make_questions(
        scope, task, metric=metric, batch_size=batch_size, max_tokens=max_tokens, seed=seed
    )
    found = run(
        scope, questions, what=chosen, mode=mode, seed=seed, importance=gates, output=output,
        restart=restart,
    )  # fmt: skip
    if map_file is not None:
        draw(found.plot(), map_file)
    _summary(found)
    if found.importance is not None:
        _agreement(found, found.importance)
    say_written(output)


def _parts(what: str) -> tuple[What, ...]:
    asked = {part.strip() for part in what.split(",")}
    if not asked <= {"heads", "layers"}:
        raise BadInput(f"--what is heads, layers, or heads,layers, not {what!r}.")
    every: tuple[What, ...] = ("heads", "layers")
    return tuple(part for part in every if part in asked)


def _agreement(found: Ablation, importance: Importance) -> None:
    from headscope.edits.ablate import agreement

    rank = agreement(importance, found)
    out.print(f"importance and damage agree to a rank correlation of {rank:.2f}", highlight=False)


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
                + tested(shown(row["low"]), shown(row["high"]), row["p_holm"]),
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
