"""`headscope emphasise`: a model's answer when heads attend more to a span."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import check_data, check_numbers, check_output
from headscope.cli.shared.console import open_scope, out, say_written
from headscope.errors import BadInput
from headscope.json_text import parse_json


def register(app: typer.Typer) -> None:
    app.command("emphasise")(emphasise)


def emphasise(
    text: Annotated[str | None, typer.Argument(help="What the model reads.")] = None,
    span: Annotated[str | None, typer.Option("--span", help="The words to emphasise.")] = None,
    answer: Annotated[
        str | None, typer.Option("--answer", help="What should follow the text.")
    ] = None,
    heads: Annotated[
        str | None, typer.Option("--heads", help="Such as 3-1,4-0; all heads if left out.")
    ] = None,
    factor: Annotated[
        float, typer.Option("--factor", help="What weights on the span are multiplied with.")
    ] = 4.0,
    examples: Annotated[
        Path | None,
        typer.Option("--examples", help="Choose heads on .jsonl lines of text, span and answer."),
    ] = None,
    best: Annotated[int, typer.Option("--best", help="How many heads to choose.")] = 8,
    draws: Annotated[int, typer.Option("--draws", help="Random sets to compare with.")] = 20,
    model: options.Model = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    restart: options.Restart = False,
    output: Annotated[Path | None, options.output("The chosen heads: .parquet or .csv")] = None,
) -> None:
    """Emphasise words of a text for some heads, and print the model's answers before and after.

    With --examples, every head is tried alone on half of the examples, and the best are tested on
    the other half beside random heads.

    Examples:

      headscope emphasise "Answer in French. What is red?" --span "in French" -m MODEL

      headscope emphasise --examples tasks.jsonl -m MODEL -o heads.parquet
    """
    check_numbers(limit=limit, best=best)
    check_data(examples)
    if output is not None:
        check_output(output, (".parquet", ".csv"), "A choice of heads")
    if examples is not None:
        from headscope.emphasis import choose

        read = _examples(examples)
        scope = open_scope(model, device, dtype, trust_remote_code)
        found = choose(
            scope, read, factor=factor, n=best, draws=draws, seed=seed, limit=limit,
            output=output, restart=restart,
        )  # fmt: skip
        out.print("chosen: " + ",".join(f"{a}-{b}" for a, b in found.chosen), highlight=False)
        out.print(found.verdict, highlight=False, soft_wrap=True)
        if output is not None:
            say_written(output)
        return
    if text is None or span is None:
        raise BadInput("Give a text and --span with the words to emphasise, or --examples.")
    if output is not None:
        raise BadInput(
            "-o saves the heads chosen from --examples; leave it out, or give --examples."
        )
    known = _heads(heads)
    from headscope.emphasis import effect

    scope = open_scope(model, device, dtype, trust_remote_code)
    found = effect(scope, text, span, answer=answer, heads=known, factor=factor)
    for name, said in (
        ("before", found.predictions_before),
        ("after", found.predictions_after),
    ):
        words = "  ".join(f"{one.token!r} {one.probability:.3f}" for one in said)
        out.print(f"{name:<7} {words}", highlight=False, markup=False, soft_wrap=True)
    if found.before is not None and found.after is not None:
        change = found.after - found.before
        out.print(
            f"answer  {found.before:.3f} → {found.after:.3f} nats ({change:+.3f})", highlight=False
        )


def _heads(given: str | None) -> list[tuple[int, int]] | None:
    if given is None:
        return None
    found: list[tuple[int, int]] = []
    for one in given.split(","):
        match = re.fullmatch(r"(\d+)-(\d+)", one.strip())
        if match is None:
            raise BadInput(f"--heads are layer-head, such as 3-1,4-0, not {given!r}.")
        found.append((int(match[1]), int(match[2])))
    return found


def _examples(path: Path) -> list[Any]:
    found: list[Any] = []
    for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
        if not line.strip():
            continue
        try:
            one: Any = parse_json(line)
            found.append((str(one["text"]), str(one["span"]), str(one["answer"])))
        except (ValueError, KeyError, TypeError):
            raise BadInput(
                f"Line {number} of {path} lacks text, span or answer; write one object per line."
            ) from None
    return found
