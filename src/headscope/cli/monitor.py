"""`headscope monitor`: heads that detect supported answers or injected prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import check_data, check_numbers, check_output
from headscope.cli.shared.console import open_scope, out, say_written
from headscope.errors import BadInput
from headscope.json_text import parse_json


def register(app: typer.Typer) -> None:
    monitor = typer.Typer(
        help="Heads that tell whether an answer is supported, or a prompt injected.",
        no_args_is_help=True,
    )
    monitor.command("build")(build)
    monitor.command("fit")(fit)
    monitor.command("score")(score)
    app.add_typer(monitor, name="monitor")


def build(
    documents: Annotated[list[Path], typer.Argument(help="Text files, four or more.")],
    output: Annotated[Path, options.output(".jsonl")],
    what: Annotated[
        Literal["context", "injected"],
        typer.Option("--what", help="Answers with their sentence taken away; or instructions."),
    ] = "context",
    others: Annotated[
        int, typer.Option("--others", help="Other documents beside the changed one.")
    ] = 2,
    seed: options.Seed = 0,
) -> None:
    """Make labelled examples from documents: pairs of a true and a false one.

    "context": the answer is a sentence that is in a document, or was removed from it. "injected": a
    document contains an instruction, or a harmless sentence.

    Examples:

      headscope monitor build notes/*.md --what injected -o labelled.jsonl
    """
    check_numbers(others=others)
    check_data(*documents)
    check_output(output, (".jsonl",), "Labelled examples")
    from headscope.grounding.monitors import labelled

    texts = [
        {"title": path.name, "text": path.read_text("utf-8", errors="replace")}
        for path in documents
    ]
    make = labelled.context_kept if what == "context" else labelled.injected
    labelled.save_labelled(make(texts, others=others, seed=seed), output)
    say_written(output)


def fit(
    labelled: Annotated[
        Path, typer.Argument(help=".jsonl with messages, documents, answer and label a line.")
    ],
    output: Annotated[Path, options.output(".json")],
    most_heads: Annotated[
        int, typer.Option("--most-heads", help="The most heads whose shares the monitor uses.")
    ] = 8,
    shuffles: Annotated[
        int, typer.Option("--shuffles", help="Shuffles of the labels behind the null.")
    ] = 200,
    model: options.Model = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    seed: options.Seed = 0,
    limit: options.Limit = None,
    restart: options.Restart = False,
) -> None:
    """Fit a monitor on labelled conversations and print its cross-validated AUROC.

    Examples:

      headscope monitor fit labelled.jsonl -m MODEL -o monitor.json
    """
    check_numbers(limit=limit, most_heads=most_heads, shuffles=shuffles)
    check_data(labelled)
    check_output(output, (".json",), "A monitor")
    from headscope.grounding.monitors.fit import fit as run
    from headscope.grounding.monitors.labelled import labelled_of

    examples = labelled_of(labelled, limit)
    scope = open_scope(model, device, dtype, trust_remote_code)
    found = run(
        scope,
        examples,
        most_heads=most_heads,
        shuffles=shuffles,
        seed=seed,
        output=output,
        restart=restart,
    )
    out.print(str(found), highlight=False, markup=False, soft_wrap=True)
    for one in found.heads:
        line = f"  {one.layer}-{one.head}  {one.share:12} {one.weight:+.2f}"
        out.print(line, highlight=False, markup=False)
    say_written(output)


def score(
    log: Annotated[Path, typer.Argument(help="Conversations or requests as .jsonl.")],
    monitor: Annotated[Path, typer.Option("--monitor", help="A monitor as .json.")],
    output: Annotated[Path, options.output(".csv, .parquet")],
    model: options.Model = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    limit: options.Limit = None,
) -> None:
    """Score every conversation in a file by a monitor, in one forward pass each.

    Examples:

      headscope monitor score requests.jsonl --monitor monitor.json -m MODEL -o scores.csv
    """
    check_numbers(limit=limit)
    check_data(log, monitor)
    check_output(output, (".csv", ".parquet"), "A table of scores")
    import pandas as pd

    from headscope.corpus.open_text import filled_lines
    from headscope.files import write_table
    from headscope.grounding.monitors.monitor import Monitor

    found = Monitor.load(monitor)
    lines = filled_lines(log)[:limit]
    if not lines:
        raise BadInput(f"{log} is empty; it needs a conversation on each line.")
    scope = open_scope(model, device, dtype, trust_remote_code)
    found.check(scope)
    rows = [_row(scope, found, number, line) for number, line in enumerate(lines)]
    write_table(pd.DataFrame(rows), output)
    say_written(output)


def _row(scope: Any, monitor: Any, number: int, line: str) -> dict[str, Any]:
    """A conversation's score, or why it has none."""
    from headscope.errors import HeadscopeError
    from headscope.grounding.requests import request_of

    name = str(number)
    try:
        asked = request_of(parse_json(line))
        name = asked.name or name
        value = monitor.score(scope, asked.messages, asked.documents, asked.answer)
    except (HeadscopeError, ValueError) as error:
        return {"request": name, "score": None, "error": str(error)}
    return {"request": name, "score": value, "error": None}
