"""A table of heads as LaTeX: booktabs rules, the best value in bold, intervals in brackets."""

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
    heading = ["layer", "head", measure]
    heading += [r"95\,\% interval"] if interval else []
    heading += ["corrected $p$"] if corrected else []
    lines = [rf"\begin{{tabular}}{{{'r' * len(heading)}}}", r"\toprule"]
    lines += [" & ".join(heading) + r" \\", r"\midrule"]
    for number, row in enumerate(table.to_dict("records")):
        value = _number(row["value"], digits)
        cells = [str(row["layer"]), str(row["head"])]
        cells.append(rf"\textbf{{{value}}}" if number == 0 else value)
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


def escaped(text: str) -> str:
    """Text with LaTeX's special characters escaped."""
    return re.sub(r"[\\~^&%$#_{}]", lambda found: SPECIAL.get(found[0], "\\" + found[0]), text)
