"""`headscope circuits`: heads by their weights, and heads with names."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import (
    check_data,
    check_figure,
    check_numbers,
    check_output,
)
from headscope.cli.shared.console import open_scope, out, say_written
from headscope.errors import BadInput

Score = Literal["copying", "composition", "copy_suppression", "successor", "name_mover",
                "retrieval", "positional", "rare_word", "massive_activation"]  # fmt: skip
ON_TEXTS = ("positional", "rare_word", "massive_activation")
TEXTS = 100  # read by default


def register(app: typer.Typer) -> None:
    app.command("circuits")(circuits)


def circuits(
    score: Annotated[Score, typer.Argument(help="What heads are scored by.")],
    output: Annotated[Path, options.output(".parquet or .csv")],
    model: options.Model = None,
    texts: Annotated[
        str, typer.Option(help=f"The texts that {', '.join(ON_TEXTS)} are measured on.")
    ] = "sample",
    limit: options.Limit = TEXTS,
    seed: options.Seed = 0,
    map_file: options.MapFile = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
) -> None:
    """Score every head: copying and composition by weights alone, or a named behaviour.

    Positional and rare-word heads, and massive activations (of layers), are measured on texts.

    Examples:

      headscope circuits copying -m gpt2 -o copying.csv --map copying.svg

      headscope circuits retrieval -m my-model -o retrieval.parquet

      headscope circuits rare_word --texts corpus.txt --limit 50 -o rare.csv
    """
    check_numbers(limit=limit)
    check_data(texts)
    check_output(output, (".parquet", ".csv"), "A score of heads")
    check_figure(map_file)
    if score == "massive_activation" and map_file is not None:
        raise BadInput(
            "Massive activations are a measure of layers, and --map draws heads; leave --map out."
        )
    import pandas as pd

    from headscope import circuits as made

    scope = open_scope(model, device, dtype, trust_remote_code)
    found: Any
    if score in ("copying", "composition"):
        found = getattr(made, score)(scope)
    else:
        given = _texts(texts, limit) if score in ON_TEXTS else ()
        found = made.named(scope, [score], texts=given, seed=seed)
    found.save(output)
    if map_file is not None:
        from headscope.figures import save

        save(found.plot(), map_file)
        say_written(map_file)
    for row in found.table.nlargest(8, "value").itertuples():
        place = f"layer {row.layer}" if pd.isna(row.head) else f"{row.layer}-{row.head}"
        chance = f"  by chance {row.null:.3f}" if hasattr(row, "null") else ""
        out.print(f"{row.measure} {place}  {row.value:.3f}{chance}", highlight=False)
    say_written(output)


def _texts(corpus: str, limit: int | None) -> list[str]:
    from headscope.corpus.bad_data import Faults
    from headscope.corpus.text.documents import Reader

    documents = Reader().documents(corpus, Faults())
    return [document.text for document in itertools.islice(documents, limit)]
