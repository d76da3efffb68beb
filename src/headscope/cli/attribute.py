"""`headscope attribute`: which heads made a prediction, and from which words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import check_output
from headscope.cli.shared.console import open_scope, out, say_written, tested
from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.circuits import Attribution
    from headscope.circuits.logits.attributions import Attributions

ENDINGS = (".html", ".svg", ".png", ".pdf", ".parquet", ".csv")
TABLES = (".csv", ".tsv", ".jsonl")


def register(app: typer.Typer) -> None:
    app.command("attribute")(attribute)


def attribute(
    text: Annotated[
        str,
        typer.Argument(
            help="The text that the model answers, or a .csv, .tsv or .jsonl table with the "
            "column prompt."
        ),
    ],
    text_pair: Annotated[
        str | None, typer.Argument(help="The second text; for encoder–decoders the decoder's.")
    ] = None,
    model: options.Model = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="The token to explain; a second one to tell it from. Default: likeliest."
        ),
    ] = None,
    position: Annotated[int | None, typer.Option(help="Which token's answer, from 0.")] = None,
    inputs: Annotated[
        bool, typer.Option("--inputs", help="Also which words mattered, put to a deletion test.")
    ] = False,
    seed: options.Seed = 0,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    output: Annotated[Path | None, options.output(", ".join(ENDINGS))] = None,
) -> None:
    """Decompose a prediction into what each head, MLP and embedding added to it.

    Without -o the strongest parts are printed; with it the picture (.html, .svg, .png, .pdf) or the
    table (.parquet, .csv) is written. For a table of prompts the command gives means with
    intervals; its columns answer and wrong are the targets.

    Examples:

      headscope attribute "Paris is the [MASK] of France." --target capital

      headscope attribute "The keys near the house" -m gpt2 --target are --target is -o keys.html

      headscope attribute prompts.csv -m gpt2 -o heads.csv
    """
    if output is not None:
        check_output(output, ENDINGS, "An attribution")
    from headscope.circuits.logits.attribute import attribute as run

    table = _table(text, text_pair, inputs, output)
    scope = open_scope(model, device, dtype, trust_remote_code)
    if table is not None:
        of_many = run(scope, table, target=target or None, position=position, seed=seed)
        _say_many(of_many)
        if output is not None:
            of_many.save(output)
            say_written(output)
        return
    found = run(scope, text, text_pair, target=target or None, position=position)
    _say(found)
    if inputs:
        from headscope.circuits.saliency.inputs import inputs as weigh

        weighed = weigh(scope, text, text_pair, target=target or None, position=position, seed=seed)
        out.print(weighed.table.round(3).to_string(index=False), highlight=False, markup=False)
        out.print(weighed.sentence, highlight=False)
    if output is None:
        return
    if output.suffix in (".parquet", ".csv"):
        found.save(output)
    else:
        from headscope.surfaces import prediction_view  # pyright: ignore

        prediction_view(found).save(output)
    say_written(output)


def _table(
    text: str, text_pair: str | None, inputs: bool, output: Path | None
) -> dict[str, Sequence[str | int]] | None:
    """The columns of a table of prompts; None if the text is not a table."""
    if not text.lower().endswith(TABLES):
        return None
    if text_pair is not None or inputs:
        raise BadInput("Leave out the second text and --inputs; a table of prompts takes neither.")
    if output is not None and output.suffix not in (".parquet", ".csv"):
        raise BadInput(f"Results of many prompts are written as .parquet or .csv, not as {output}.")
    if not Path(text).is_file():
        raise BadInput(f"There is no file {text}; check the path.")
    from headscope.corpus.tables import read_rows

    # a column of whole numbers names a token, but an answer may be a number too
    return {
        name: list(map(int, cells))
        if name not in ("prompt", "answer", "wrong") and all(cell.isdecimal() for cell in cells)
        else cells
        for name, cells in read_rows(text, "").columns.items()
    }


def _say_many(found: Attributions) -> None:
    out.print(f"{found.title}. {found.note}", highlight=False, markup=False, soft_wrap=True)
    shown: Any = found.top("logit", 12).itertuples()
    for row in shown:
        told = tested(f"{row.low:+.3f}", f"{row.high:+.3f}", row.p_holm)
        out.print(f"{row.layer}-{row.head:<8} {row.value:+8.3f} {told}", highlight=False)


def _say(found: Attribution) -> None:
    out.print(f"{found.title}. {found.note}", highlight=False, markup=False, soft_wrap=True)
    for part in found.strongest(12):
        words = ""
        if part.part == "head" and found.edges:
            by_key = found.by_key(part.layer or 0, part.head or 0, part.kind)
            tokens = found.key if part.kind == "cross" else found.query
            best = int(abs(by_key).argmax())
            words = f"  from “{tokens[best]}” {by_key[best]:+.2f}"
        out.print(f"{part.label:<10} {part.value:+8.3f}{words}", highlight=False, markup=False)
    rest = found.value - sum(part.value for part in found.strongest(12))
    out.print(f"{'all others':<10} {rest - found.unexplained:+8.3f}", highlight=False)
    if abs(found.unexplained) > 1e-3:
        out.print(f"{'unexplained':<10} {found.unexplained:+7.3f}", highlight=False)
