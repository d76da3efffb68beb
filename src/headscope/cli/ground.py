"""`headscope ground`: which document an answer came from, if any."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import check_numbers, check_output
from headscope.cli.shared.console import open_scope, out, say_written
from headscope.cli.shared.conversation import MessagesFile, check_texts, conversation
from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.grounding.result import Grounding
    from headscope.reading import Scope

ENDINGS = (".html", ".svg", ".png", ".pdf", ".parquet", ".csv")
SHOWN = 5  # sources printed for each sentence


def register(app: typer.Typer) -> None:
    app.command("ground")(ground)


def ground(
    files: Annotated[
        list[Path] | None, typer.Argument(help="More text files to answer from.", metavar="FILE")
    ] = None,
    question: Annotated[
        str | None, typer.Option("--question", "-q", help="What the model is asked.")
    ] = None,
    document: Annotated[
        list[Path] | None,
        typer.Option("--document", "-d", help="Text files to answer from, such as *.md."),
    ] = None,
    messages: MessagesFile = None,
    answer: Annotated[
        str | None, typer.Option("--answer", help="What was answered; else the model answers.")
    ] = None,
    by: Annotated[
        Literal["document", "paragraph", "sentence"],
        typer.Option("--by", help="What is taken away at a time."),
    ] = "document",
    exact: Annotated[
        int | None,
        typer.Option("--exact", help="How many sources to take away; else all of 16 or fewer."),
    ] = None,
    passes: Annotated[
        int | None,
        typer.Option("--passes", help="A budget of passes over random subsets of many sources."),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option("--weights", help="Head weights as .json; fitted and written if not there."),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option("--log", help="Finished requests as .jsonl; a table of all is written."),
    ] = None,
    max_new_tokens: Annotated[
        int, typer.Option("--max-new-tokens", help="Tokens of an answer that the model writes.")
    ] = 64,
    model: options.Model = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    seed: options.Seed = 0,
    limit: options.Limit = None,
    restart: options.Restart = False,
    output: Annotated[Path | None, options.output(", ".join(ENDINGS))] = None,
) -> None:
    """Measure how much of an answer came from which document, if any.

    The verdict on each sentence is printed; -o writes a page (.html), a figure (.svg, .png, .pdf)
    or the numbers (.parquet; .csv: three tables). With --log, the command reads many finished
    requests and writes one table.

    Examples:

      headscope ground --document *.md -q "Who signed?" -m MODEL -o ground.html

      headscope ground -m MODEL --log requests.jsonl -o grounding.parquet
    """
    texts = [*(document or ()), *(files or ())]
    counts = {"passes": passes, "exact": exact}
    given = {name: count for name, count in counts.items() if count is not None}
    check_numbers(limit=limit, max_new_tokens=max_new_tokens, **given)
    check_texts(messages, log, *texts)
    if output is not None:
        check_output(output, ENDINGS if log is None else (".parquet", ".csv"), "A grounding")
    settings: dict[str, Any] = {
        "by": by,
        "exact": "auto" if exact is None else exact,
        "passes": passes,
        "seed": seed,
    }
    if log is not None:
        if question or texts or messages or answer:
            raise BadInput(
                "--log holds questions, documents and answers; leave -q, --document, "
                "--messages and --answer out."
            )
        if output is None:
            raise BadInput("--log writes a table; name it with -o, such as -o grounding.parquet.")
        from headscope.grounding.log import ground_log

        scope = open_scope(model, device, dtype, trust_remote_code)
        ground_log(
            scope, log, output=output, limit=limit, restart=restart,
            weights=_weights(scope, weights, seed), **settings,
        )  # fmt: skip
        say_written(output)
        return
    if (question is None) == (messages is None):
        raise BadInput("Give a question with -q, or a conversation with --messages.")
    said, documents, known = conversation(question, texts, messages)
    from headscope.grounding.ground import ground as run

    scope = open_scope(model, device, dtype, trust_remote_code)
    found = run(
        scope,
        said,
        documents,
        answer if answer is not None else known,
        weights=_weights(scope, weights, seed),
        max_new_tokens=max_new_tokens,
        **settings,
    )
    _say(found)
    if output is not None:
        _write(scope, found, output)
        say_written(output)


def _weights(scope: Scope, path: Path | None, seed: int) -> Any:
    """Head weights from a file; a missing file is created."""
    if path is None:
        return None
    from headscope.grounding.learned import HeadWeights, fit_head_weights

    if not path.exists():
        made = fit_head_weights(scope, seed=seed)
        made.save(path)
        say_written(path)
    return HeadWeights.load(path)


def _say(found: Grounding) -> None:
    from headscope.grounding.support import REFUSED, why_refused

    support: Any = found.support
    for row in support.itertuples():
        if int(row.sentence) < 0:
            continue
        text = found.sentence_text(int(row.sentence)).strip()
        out.print(f"{text}\n  {row.verdict}", highlight=False, markup=False, soft_wrap=True)
        best: Any = found.by_source(sentence=int(row.sentence)).head(SHOWN)
        if str(row.verdict) == REFUSED:
            out.print(f"  {why_refused(row, best)}", highlight=False, markup=False, soft_wrap=True)
        for source in best.itertuples():
            out.print(f"  {source.value:+9.3f}  {source.source}", highlight=False, markup=False)
    ablated = found.best in ("exact", "subsets")
    unit = ", nats of log-probability lost without the source; below 1 means little"
    out.print(f"Numbers: {found.best}{unit if ablated else ''}.", highlight=False, soft_wrap=True)


def _write(scope: Scope, found: Grounding, output: Path) -> None:
    if output.suffix.lower() in (".parquet", ".csv"):
        from headscope.results.storage import write_output

        write_output(found, output, found.scores, support=found.support, heads=found.table)
        return
    from headscope.surfaces import grounding_view  # pyright: ignore

    documents = [
        {"title": title, "text": text}
        for title, text in zip(found.titles, found.documents, strict=True)
    ]
    cut = found.table[found.table["measure"] == "knockout"]
    layers = sorted({int(layer) for layer in cut["layer"]})
    reading = None
    if layers:
        reading = scope.read(
            messages=list(found.messages), documents=documents, answer=found.answer, layers=layers
        )
    grounding_view(found, reading=reading).save(output)
