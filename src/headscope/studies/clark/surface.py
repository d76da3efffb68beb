"""Section 3 of the paper: relative position, special tokens, entropy, and Fig. 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.figures import scatter_by_layer
from headscope.measures import every
from headscope.probes.drawings import reading_lines
from headscope.statistics.statistic import Statistic
from headscope.studies.clark.inputs import ClarkInputs, at_same_depth, reference
from headscope.studies.pieces import Section

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.runs import Run
    from headscope.statistics import Statistic


class SelfToken(Statistic):
    """Share of attention that a token pays to itself."""

    name = "self"
    unit = "share"
    feature = "self"


class PreviousToken(Statistic):
    """Share of attention that goes to the token before the query; the first token counts as 0."""

    name = "previous"
    unit = "share"
    feature = "previous"


class NextToken(Statistic):
    """Share of attention that goes to the token after the query; the last token counts as 0."""

    name = "next"
    unit = "share"
    feature = "next"
    both_directions = True


POSITIONS = (SelfToken, NextToken, PreviousToken)


STATISTICS = ("cls", "sep", "punctuation", "sep_sep", "rest_sep", "entropy", "entropy_cls",
              "entropy_uniform")  # fmt: skip
PAPER_NAMES = {"punctuation": "punct"}
SHOWN = ("I went to the store.", "At the store, I bought fresh strawberries.")


PAPER = "BERT-base, paper"
DASHED = "Dashed: the paper's layer means at the same relative depth."


def _titled(name: str) -> str:
    return f"Attention to {every()[name].title}"


class Maps:
    """The statistics of a survey as layers × heads."""

    def __init__(self, table: pd.DataFrame, kind: str) -> None:
        self.table: Any = table[table["kind"] == kind]

    def __contains__(self, name: str) -> bool:
        return name in set(self.table["measure"])

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        rows: Any = self.table[self.table["measure"] == name]
        out = np.full(
            (int(self.table["layer"].max()) + 1, int(self.table["head"].max()) + 1), np.nan
        )
        out[rows["layer"], rows["head"]] = rows["value"]
        return out


def wanted(scope: Scope) -> list[Statistic]:
    """The section's statistics that this model has."""
    from headscope.statistics import discover

    known = discover()
    every = [*(statistic() for statistic in POSITIONS), *(known[name] for name in STATISTICS)]
    return [one for one in every if not (scope.causal and one.both_directions)]


def measure(inputs: ClarkInputs, run: Run, kind: str) -> Maps:
    """One survey serves the whole section."""
    text = inputs.text()

    def compute() -> pd.DataFrame:
        from headscope.surveys.run import survey

        found = survey(inputs.scope, text, wanted(inputs.scope), segments="pairs", max_tokens=128,
                       limit=inputs.segments, output=run.place("survey.survey.parquet"),
                       progress=run.show)  # fmt: skip
        return found.table.assign(segments=found.metadata["segments"])

    return Maps(run.table("survey", compute), kind)


def relative_position(section: Section, maps: Maps) -> None:
    """3.1: the share of attention on the next, the previous and the current token."""
    rows: list[dict[str, object]] = []
    published = reference()["relative_position"]
    for name in ("next", "previous", "self"):
        if name not in maps:
            undefined = f"Attention to the {name} token is undefined here"
            section.note(f"{undefined}: the model reads from left to right.")
            continue
        values = maps[name]
        over = np.argwhere(values > 0.5)
        rows.append(
            {
                "attends to": name,
                "heads over half": len(over),
                "which (layer-head)": ", ".join(f"{a}-{b}" for a, b in over) or "none",
                "largest": float(np.nanmax(values)),
                "paper": published.get(f"{name}_over_half", "little attention"),
            }
        )
        figure = scatter_by_layer(values, "share of attention", title=f"to the {name} token")
        section.figure(f"position_{name}", figure, f"Attention to the {name} token, by layer.")
    frame = pd.DataFrame(rows)
    section.table("relative_position", frame, "Heads with over half their attention on one offset.",
                  published=["paper"])  # fmt: skip


def separators(section: Section, maps: Maps) -> None:
    """3.2, Fig. 2: attention to [CLS], [SEP], periods and commas."""
    names = [n for n in ("cls", "sep", "punctuation", "sep_sep", "rest_sep") if n in maps]
    frame = pd.DataFrame({"layer": np.arange(len(maps["self"]))})
    paper: list[str] = []
    for name in names:
        values = maps[name]
        if np.isnan(values).all():
            section.note(f"{_titled(name)} is undefined here: the model has no such token.")
            continue
        line = reference()["per_layer"][PAPER_NAMES.get(name, name)]
        title = every()[name].title
        frame[title] = np.nanmean(values, axis=1)
        frame[f"{title}, paper"] = published = at_same_depth(line, len(values))
        paper.append(f"{title}, paper")
        figure = scatter_by_layer(
            values, "share of attention", reference={PAPER: published}, title=_titled(name)
        )
        section.figure(
            f"special_{name}", figure, f"Fig. 2: attention to {title}, every head. {DASHED}"
        )
    caption = "Layer means; the paper's are BERT-base's at the same relative depth."
    section.table("special_tokens", frame, caption, published=paper)
    _agreement(section, "agreement_special", maps, ["cls", "sep", "punctuation"])


def entropy(section: Section, maps: Maps) -> None:
    """3.3, Fig. 4: focused and broad attention."""
    values = maps["entropy"]
    uniform = float(np.nanmean(maps["entropy_uniform"])) if "entropy_uniform" in maps else np.nan
    published = at_same_depth(reference()["per_layer"]["entropy"], len(values))
    lines: dict[str, Any] = {"uniform attention": uniform} if np.isfinite(uniform) else {}
    lines[PAPER] = published
    figure = scatter_by_layer(values, "entropy (nats)", reference=lines, title="Entropy")
    section.figure("entropy", figure, f"Fig. 4: the entropy of each head's attention. {DASHED}")
    frame = pd.DataFrame(
        {
            "layer": np.arange(len(values)),
            "entropy": np.nanmean(values, axis=1),
            "paper": published,
        }
    )
    section.table("entropy", frame, "Layer means, in nats.", published=["paper"])
    if "entropy_cls" in maps and not np.isnan(maps["entropy_cls"]).all():
        last = float(np.nanmean(maps["entropy_cls"][-1]))
        told = reference()["entropy_cls_last_layer"]
        section.text(f"From `[CLS]` in the last layer: {last:.2f} nats here, {told} in the paper.")
    _agreement(section, "agreement_entropy", maps, ["entropy"])


def examples(section: Section, inputs: ClarkInputs, maps: Maps) -> None:
    """Fig. 1: the heads that show each surface pattern most clearly."""
    reading = inputs.scope.read(*SHOWN) if not inputs.scope.encoder_decoder else None
    if reading is None:
        return
    wanted = {"broad attention": "entropy", "the next token": "next", "[SEP]": "sep",
              "periods and commas": "punctuation"}  # fmt: skip
    for title, name in wanted.items():
        if name not in maps or np.isnan(maps[name]).all():
            continue
        layer, head = np.unravel_index(int(np.nanargmax(maps[name])), maps[name].shape)
        figure = reading_lines(reading, int(layer), int(head), title=title)
        section.figure(f"fig1_{name}", figure, f"Fig. 1: the head most given to {title}.")


def _agreement(section: Section, table: str, maps: Maps, names: list[str]) -> None:
    """Rank correlation with the paper's own heads, for models of BERT-base's shape."""
    rows: list[dict[str, object]] = []
    for name in names:
        published = np.array(reference()["per_head"][PAPER_NAMES.get(name, name)])
        if name in maps and maps[name].shape == published.shape:
            ours = pd.Series(maps[name].ravel())
            rows.append(
                {
                    "statistic": every()[name].title,
                    "Spearman": float(ours.corr(pd.Series(published.ravel()), method="spearman")),
                    "largest here": float(np.nanmax(ours)),
                    "largest, paper": float(published.max()),
                }
            )
    if rows:
        caption = "All heads against the paper's figure, which shows BERT-base."
        section.table(table, pd.DataFrame(rows), caption, published=["largest, paper"])
