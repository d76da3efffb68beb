"""`headscope score`: why a head attended there, by what wrote the query and the key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import check_numbers, check_output
from headscope.cli.shared.console import open_scope, out, say_written
from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.circuits import QueryScores, Score

FIGURES = (".svg", ".png", ".pdf")
ENDINGS = (*FIGURES, ".parquet", ".csv")
SHOWN = 6  # writers printed for each side


def register(app: typer.Typer) -> None:
    app.command("score")(score)


def score(
    text: Annotated[str, typer.Argument(help="The text that the model reads.")],
    text_pair: Annotated[
        str | None, typer.Argument(help="The second text; for encoder–decoders the decoder's.")
    ] = None,
    layer: Annotated[int, typer.Option(help="The head's layer, from 0.")] = 0,
    head: Annotated[int, typer.Option(help="The head, from 0.")] = 0,
    query: Annotated[int, typer.Option(help="The token that looks; -1 is the last.")] = -1,
    key: Annotated[
        int | None, typer.Option(help="The token that is looked at. Default: all keys.")
    ] = None,
    relative_to: Annotated[
        str | None, typer.Option(help="Another key's position, or “mean”: why this one instead.")
    ] = None,
    verify: Annotated[
        int, typer.Option(help="Writers of each side that are removed to measure their effect.")
    ] = 0,
    model: options.Model = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    output: Annotated[Path | None, options.output(", ".join(ENDINGS))] = None,
) -> None:
    """Decompose an attention score by what wrote the query and the key.

    The command prints the embeddings, heads and MLPs that wrote most of the score.
    With -o it writes a figure (.svg, .png, .pdf) or a table (.parquet, .csv).

    Examples:

      headscope score "The cat sat on the mat." --layer 2 --head 3 --query 4 --key 5

      headscope score "Mary and John; Mary" -m gpt2 --layer 5 --head 1 --relative-to mean
    """
    if verify:
        check_numbers(verify=verify)
    if output is not None:
        check_output(output, ENDINGS, "A score")
    against = _relative(relative_to)
    from headscope.circuits.scores.score import score as run

    scope = open_scope(model, device, dtype, trust_remote_code)
    found = run(
        scope, text, layer, head, query, key, text_pair=text_pair,
        relative_to=against, verify=verify,
    )  # fmt: skip
    _say(found)
    if output is None:
        return
    if output.suffix in FIGURES:
        from headscope.figures import save

        save(found.plot(), output)
    else:
        found.save(output)
    say_written(output)


def _relative(given: str | None) -> int | Literal["mean"] | None:
    if given is None or given == "mean":
        return given
    try:
        return int(given)
    except ValueError:
        raise BadInput(f"--relative-to is a position or “mean”, not “{given}”.") from None


def _say(found: Score | QueryScores) -> None:
    from headscope.circuits import QueryScores

    out.print(found.title, highlight=False, markup=False)
    if isinstance(found, QueryScores):
        best = found.weights.argsort()[::-1][:SHOWN]
        seen = (f"{found.key_tokens[found.keys[at]]!r} {found.weights[at]:.2f}" for at in best)
        out.print(f"it looks at {', '.join(seen)}", highlight=False, markup=False, soft_wrap=True)
    else:
        out.print(f"score {found.value:+.2f}, weight {found.weight:.2f}", highlight=False)
    for side, what in (("query", "the query is written by"), ("key", "the key is written by")):
        out.print(what, highlight=False)
        rows = found.top(side, SHOWN)
        for writer, value in zip(rows["writer"], rows["value"], strict=True):
            out.print(f"  {writer}  {value:+.2f}", highlight=False, markup=False)
    for one in getattr(found, "verified", ()):
        out.print(
            f"{one.writer.name} removed from the {one.side}: weight {one.measured:+.3f}, "
            f"predicted {one.predicted:+.3f} with norms held, {one.rescaled:+.3f} with them "
            "rescaled",
            highlight=False,
        )
