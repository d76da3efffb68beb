"""The options that commands share: one name, one short form and one help text for each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer.models import OptionInfo

from headscope.arguments import need_seed


def _seed(given: int) -> int:
    need_seed(given)
    return given


Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="A hub name, a folder or a GGUF file; the bundled model if left out.",
    ),
]
Device = Annotated[
    str | None, typer.Option("--device", help="cpu, cuda, cuda:1, mps; auto: all there are.")
]
Dtype = Annotated[
    str | None, typer.Option("--dtype", help="float32, bfloat16, float16; 8bit, 4bit: quantised.")
]
TrustRemoteCode = Annotated[
    bool,
    typer.Option(
        "--trust-remote-code",
        help="Run the Python code in the model's folder; only if you trust its authors.",
    ),
]
Limit = Annotated[
    int | None, typer.Option("--limit", help="Read only the first N texts or examples.")
]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens", help="The most tokens the model reads at once.")
]
BadData = Annotated[
    Literal["skip", "refuse"],
    typer.Option("--bad-data", help="Skip (and count) or refuse data that cannot be read."),
]
Layout = Annotated[
    Literal["auto", "lines", "paragraphs", "file", "wikitext"],
    typer.Option("--layout", help="What a document is."),
]
Segments = Annotated[
    Literal["windows", "documents", "pairs"],
    typer.Option("--segments", help="Whole documents by windows, their beginnings, or pairs."),
]
HeadsFile = Annotated[
    Path | None, typer.Option("--heads-file", help="Write the chosen heads as .json.")
]
Workers = Annotated[int | None, typer.Option(help="Processes to measure in; of Ray all there are.")]
Engine = Annotated[
    Literal["local", "ray"], typer.Option("--engine", help="Measure here, or on a Ray cluster.")
]
Sample = Annotated[
    int | None, typer.Option("--sample", help="Draw N examples at random (see --seed).")
]
Field = Annotated[str, typer.Option("--field", help="The column or key that holds the text.")]
Seed = Annotated[
    int,
    typer.Option("--seed", help="Seed of all random draws.", callback=_seed),
]
Restart = Annotated[bool, typer.Option("--restart", help="Start over instead of resuming.")]
MapFile = Annotated[Path | None, typer.Option("--map", help="A map as .svg, .png or .pdf.")]
TaskData = Annotated[
    str,
    typer.Argument(
        help="A GLUE folder, a .tsv, .csv, .jsonl or .txt file, a dataset's name, or sample."
    ),
]
TextColumn = Annotated[str | None, typer.Option("--text", help="The column of the text.")]
TextPairColumn = Annotated[
    str | None, typer.Option("--text-pair", help="The column of the second text.")
]
LabelColumn = Annotated[str | None, typer.Option("--label", help="The column of the label.")]
MetricName = Annotated[
    str | None,
    typer.Option(
        "--metric",
        help="accuracy, f1, matthews, pearson, spearman or loss; the task's if left out.",
    ),
]
AnswerMetric = Annotated[
    str | None,
    typer.Option(
        "--metric",
        help="logit_difference, logit, probability, probability_difference, loss or accuracy.",
    ),
]


def output(what: str) -> OptionInfo:
    """The output option, with the same name in every command."""
    return typer.Option("--output", "-o", help=what)


def corpus(what: str = "") -> OptionInfo:
    """Text of any kind."""
    return typer.Argument(
        help="Text, a table, JSONL, Parquet or CoNLL-U; a folder or archive; - for a pipe; or "
        f"sample for the text that is shipped.{what}"
    )
