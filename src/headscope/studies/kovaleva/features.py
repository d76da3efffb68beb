"""Sections 4.4 and 4.5: attention to kinds of words, between them, and from the last [CLS]."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headscope.studies.kovaleva.inputs import KovalevaInputs

if TYPE_CHECKING:
    from headscope.corpus.treebanks.conllu import Sentence
    from headscope.runs import Run
    from headscope.studies.report import Report

SENTENCES = 1000


def add(report: Report, inputs: KovalevaInputs, run: Run) -> None:
    section = report.section(
        "Attention to linguistic features",
        "For each kind of word, the largest column mean among the words of that kind, averaged "
        "over the sentences that have one. The paper's code counts sentences without the kind as "
        "zero, against its text; they are left out here.",
    )
    found = sentences(inputs)
    if found is None:
        section.note(
            "Left out: it needs parsed sentences. Put ud_english_ewt/en_ewt-ud-dev.conllu into "
            "the data folder, or install spaCy with an English model."
        )
        return
    where, parsed = found
    models = [("pre-trained", inputs.scope), *inputs.tuned.items()]
    tables: list[Any] = []
    for name, scope in models:
        table: Any = run.table(
            f"features_{name}", lambda name=name, scope=scope: _probe(scope, parsed, name, run)
        )
        table.insert(0, "model", name)
        tables.append(table)
    import pandas as pd

    every: Any = pd.concat(tables, ignore_index=True)
    received = every[every["measure"] == "received"]
    best = _best(received)
    section.table(
        "features", best,
        f"The head that attends most to each kind of word, over {where}; `mean` is that of all "
        "heads. The paper's claim: vertical stripes are almost only [CLS] (early layers) and "
        "[SEP] (late layers); nouns, objects and negation rise a little after fine-tuning.",
    )  # fmt: skip
    _maps(section, received)
    between = every[every["measure"] == "between words"]
    section = report.section(
        "Token to token",
        "The largest weight between a subject and its verb, and between nouns and pronouns. The "
        "paper finds such heads only among those that attend to neighbours.",
    )
    section.table("between_words", _best(between), "The best head for each pair of kinds.")
    _opening(report, every)


def _opening(report: Report, every: Any) -> None:
    section = report.section(
        "[CLS] in the last layer",
        "Classifiers read the last layer's [CLS]. Per head of that layer, the largest weight from "
        "[CLS] to a word of each kind, averaged over the sentences that have one.",
    )
    rows: Any = every[every["measure"] == "from opening, last layer"]
    table = rows.groupby(["model", "feature"], sort=False)["score"].agg(["mean", "max"])
    section.table(
        "opening", table.reset_index(),
        "Mean and largest over the heads of the last layer. The paper's claim: [SEP] is highest, "
        "except for STS-B, RTE and QNLI, where it is punctuation.",
    )  # fmt: skip


def sentences(inputs: KovalevaInputs) -> tuple[str, Iterable[Sentence]] | None:
    """Parsed sentences: a treebank's if there is one, else the sample by spaCy."""
    from headscope.errors import HeadscopeError

    path = inputs.folder("ud_english_ewt", "en_ewt-ud-dev.conllu")
    count = min(inputs.limit, SENTENCES)
    if path is not None:
        from headscope.corpus.treebanks.treebank import Treebank

        return f"{count} sentences of UD English EWT", Treebank(path, limit=count)
    try:
        from headscope.corpus.treebanks.spacy_parse import parse_texts

        name, pairs = inputs.texts
        texts = [text for pair in pairs[:count] for text in pair]
        return f"{name}, parsed by spaCy", list(parse_texts(texts))
    except (HeadscopeError, ImportError):
        return None


def _probe(scope: Any, parsed: Iterable[Sentence], name: str, run: Run) -> Any:
    from headscope.probes.features.attention import features

    output = run.place(f"features_{name}.probe.parquet")
    return features(scope, parsed, output=output, progress=run.show).heads


def _best(rows: Any) -> Any:
    """One row per model and feature: the head with the largest score, and the mean of all."""
    mean = rows.groupby(["model", "feature"])["score"].mean().rename("mean").reset_index()
    top = rows.loc[rows.groupby(["model", "feature"], sort=False)["score"].idxmax()]
    columns = ["model", "feature", "layer", "head", "score", "sentences"]
    return top[columns].merge(mean, on=["model", "feature"])


def _maps(section: Any, received: Any) -> None:
    import numpy as np

    from headscope.figures import layer_head_map

    of_first = received[received["model"] == "pre-trained"]
    for feature in ("opening", "separator"):
        rows = of_first[of_first["feature"] == feature]
        if len(rows):
            values = np.asarray(rows["score"], float).reshape(int(rows["layer"].max()) + 1, -1)
            name = {"opening": "[CLS]", "separator": "[SEP]"}[feature]
            section.figure(
                f"received_{feature}",
                layer_head_map(values, f"attention to {name}", "mean weight", limits=(0.0, 1.0)),
                f"Attention to {name} before fine-tuning.",
            )
