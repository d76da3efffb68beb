"""`headscope study`: a paper's experiments, end to end, as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import check_data, check_numbers, check_output
from headscope.cli.shared.console import command_line, open_scope, say_written
from headscope.errors import BadInput


def register(app: typer.Typer) -> None:
    app.command("study")(study)


def study(
    name: Annotated[str, typer.Argument(help="vig, clark, kovaleva, rxnmapper or whisper.")],
    model: options.Model = None,
    data: Annotated[
        Path | None,
        typer.Option(help="The folder with the study's data (see docs); the sample if left out."),
    ] = None,
    limit: options.Limit = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    output: Annotated[Path, options.output("The page to write, .html")] = Path("report.html"),
    restart: options.Restart = False,
) -> None:
    """Run a paper's experiments on a model and write the report.

    Finished steps are saved beside the report until it is written; a stopped run resumes with the
    same command.

    Examples:

      headscope study vig -o vig.html

      headscope study vig --model bert-base-uncased --data data -o vig.html
    """
    from headscope import studies
    from headscope.corpus.sample import SAMPLE

    if name not in studies.STUDIES:
        raise BadInput(f"There is no study {name!r}; there are {', '.join(studies.STUDIES)}.")
    check_output(output, (".html", ".htm"), "A report")
    check_numbers(limit=limit)
    if str(data) == SAMPLE:
        data = None
    check_data(data)
    study_of: Any = getattr(studies, name)
    scope = (study_of.opens or open_scope)(model, device, dtype, trust_remote_code)
    study_of(scope, data, limit=limit, output=output, restart=restart, command=command_line())
    say_written(output)
