"""A table of heads or writers as LaTeX: booktabs rules, the best in bold, intervals in brackets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

MOST_DIGITS = 15  # of a float
SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def latex(rows: pd.DataFrame, digits: int = 3) -> str:
    """The rows in their order; the first is the best."""
    if not 0 <= digits <= MOST_DIGITS:
        raise BadInput(f"digits= is a number from 0 to {MOST_DIGITS}, not {digits}.")
    table: Any = rows
    measure = escaped(str(table["measure"].iloc[0]))
    interval = {"low", "high"} <= set(table.columns) and table["low"].notna().any()
    corrected = "p_holm" in table.columns and table["p_holm"].notna().any()
    named = ["writer"] if "writer" in table.columns else ["layer", "head"]
    heading = [*named, measure]
    heading += [r"95\,\% interval"] if interval else []
    heading += ["corrected $p$"] if corrected else []
    columns = ("l" if "writer" in named else "rr") + "r" * (len(heading) - len(named))
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    lines += [" & ".join(heading) + r" \\", r"\midrule"]
    for number, row in enumerate(table.to_dict("records")):
        value = _number(row["value"], digits)
        cells = [escaped(str(row[name])) for name in named]
        cells.append(_bold(value) if number == 0 else value)
        if interval:
            cells.append(f"[{_number(row['low'], digits)}, {_number(row['high'], digits)}]")
        if corrected:
            cells.append(_number(row["p_holm"], digits))
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _number(value: float, digits: int) -> str:
    """A number with LaTeX's minus sign; a dash for NaN."""
    if not np.isfinite(value):
        return "--"
    shown = f"{value:.{digits}f}"
    return f"${shown}$" if shown.startswith("-") else shown


def _bold(value: str) -> str:
    """\\textbf leaves mathematics as it is, and a negative number is mathematics."""
    return rf"{{\boldmath{value}}}" if value.startswith("$") else rf"\textbf{{{value}}}"


def escaped(text: str) -> str:
    """Text with LaTeX's special characters escaped."""
    return re.sub(r"[\\~^&%$#_{}]", lambda found: SPECIAL.get(found[0], "\\" + found[0]), text)
