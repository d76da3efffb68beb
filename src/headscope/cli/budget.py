"""`headscope budget`: which key-value heads need the whole cache, and a head file for serving."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.shared import options
from headscope.cli.shared.checks import check_data, check_folder, check_numbers, check_output
from headscope.cli.shared.console import command_line, open_scope, out, say_written
from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.budgets.result import Budget


def register(app: typer.Typer) -> None:
    app.command("budget")(budget)


def budget(
    corpus: Annotated[str, options.corpus()],
    output: Annotated[Path, options.output("The result: .parquet or .csv")],
    model: options.Model = None,
    sink: Annotated[int, typer.Option(help="First tokens that a restricted head sees.")] = 4,
    window: Annotated[int, typer.Option(help="Last tokens that a restricted head sees.")] = 256,
    tolerance: Annotated[
        float, typer.Option(help="How much the loss of a token may rise, in nats.")
    ] = 0.02,
    needles: Annotated[
        int, typer.Option(help="Stretches of the text that are hidden and asked for.")
    ] = 32,
    draws: Annotated[int, typer.Option(help="Random sets to compare with.")] = 5,
    limit: options.Limit = 16,
    max_tokens: options.MaxTokens = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="A page with the curve and the map, .html.")
    ] = None,
    heads_file: options.HeadsFile = None,
    duo_attention: Annotated[
        Path | None, typer.Option("--duo-attention", help="A folder for DuoAttention's files.")
    ] = None,
    seed: options.Seed = 0,
    device: options.Device = None,
    dtype: options.Dtype = None,
    trust_remote_code: options.TrustRemoteCode = False,
    restart: options.Restart = False,
) -> None:
    """Find which key-value heads need the whole cache, and which need only a sink and a window.

    Half of the texts choose the heads; the other half measures the cost. A stopped run resumes with
    the same command.

    Examples:

      headscope budget corpus.txt -m my-model -o budget.parquet --page budget.html

      headscope budget corpus.txt -m my-model -o budget.parquet --heads-file heads.json
    """
    check_numbers(limit=limit, max_tokens=max_tokens, window=window, needles=needles)
    if sink < 0 or draws < 0 or not tolerance >= 0:
        raise BadInput("--sink, --draws and --tolerance are 0 or more.")
    check_data(corpus)
    check_output(output, (".parquet", ".csv"), "A budget")
    for path, ending in ((page, ".html"), (heads_file, ".json")):
        if path is not None:
            check_output(path, (ending,), "That file")
    check_folder(duo_attention)
    from headscope.budgets.run import budget as run

    scope = open_scope(model, device, dtype, trust_remote_code)
    found = run(
        scope, corpus, sink=sink, window=window, tolerance=tolerance, max_tokens=max_tokens,
        limit=limit, needles=needles, draws=draws, seed=seed, output=output, restart=restart,
    )  # fmt: skip
    _say(found)
    say_written(output)
    if heads_file is not None:
        found.to_json(heads_file)
        say_written(heads_file)
    if duo_attention is not None:
        found.to_duo_attention(duo_attention)
        say_written(duo_attention)
    if page is not None:
        _write_page(found, page)
        say_written(page)


def _lines(found: Budget) -> list[str]:
    """The findings in sentences."""
    rows: Any = found.curve
    held = rows[rows["texts"] == "held out"]
    best = held[held["order"] == "exact"].iloc[0]
    lines = [
        f"{len(found.recommended)} of {len(found.order)} key-value heads can be restricted to "
        f"{found.sink} + {found.window} tokens.",
        f"On texts that did not choose them the loss rises by {best['rise']:+.4f} nats a token"
        + (f" [{best['low']:+.4f}, {best['high']:+.4f}]" if best["low"] == best["low"] else "")
        + ".",
    ]
    if best["kept"] == best["kept"]:
        lines.append(f"They keep {best['kept']:.0%} of the needles that the model finds.")
    else:
        lines.append("The model finds no needle here, so none could be lost.")
    drawn = held[held["order"] == "random"]["rise"]
    if len(drawn):
        lines.append(
            f"As many random heads cost {drawn.mean():+.4f} on average "
            f"({drawn.min():+.4f} to {drawn.max():+.4f}, {len(drawn)} draws)."
        )
    saved = " · ".join(
        f"{name.removeprefix('saved_')}: {best[name]:.0%}" for name in rows if "saved_" in name
    )
    lines.append(f"Cache saved by number of tokens: {saved}.")
    lines.append(
        f"Exact costs and the gate's estimates agree to a rank correlation of "
        f"{found.agreement:.2f}."
    )
    return lines


def _say(found: Budget) -> None:
    for line in _lines(found):
        out.print(line, highlight=False, soft_wrap=True)


def _write_page(found: Budget, path: Path) -> None:
    from headscope.studies.report import Report

    report = Report(f"Head budget of {found.model}", "budget", found.model, command_line())
    report.summary = "\n\n".join(_lines(found))
    report.method = (
        "Every key-value head is restricted alone to a sink and a window, and the loss of later "
        "tokens and the answers to hidden needles are compared with those of the whole model. "
        "Heads are then restricted together in the order of their cost."
    )
    curve = report.section("How many heads can be restricted?")
    curve.figure("curve", found.plot(), "Lines: texts that chose the heads. Points: other texts.")
    curve.table("sets", found.curve, "Every set of heads that was restricted together.")
    heads = report.section("Which heads?")
    heads.figure("heads", found.plot("heads"), "Cost of each head alone; recommended: outlined.")
    heads.figure("retrieval", found.plot("retrieval"), "How often each head looks at the needle.")
    heads.figure("outside", found.plot("outside"), "Attention outside of sink and window.")
    measured: Any = found.table
    wide = measured.pivot_table("value", ["layer", "head"], "measure")
    lost = measured[measured["measure"] == "loss_cost"].set_index(["layer", "head"])
    for end in ("high", "low"):
        wide.insert(wide.columns.get_loc("loss_cost") + 1, f"loss_{end}", lost[end])
    heads.table("costs", wide.reset_index(), "Every measure of every key-value head.")
    report.save(path)
