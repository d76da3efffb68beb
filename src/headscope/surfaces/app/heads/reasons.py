"""Why a head does what its label says, for a chart, a sentence and the numbers behind them; and
what the head was labelled over a corpus, for a model that comes with labels."""

from __future__ import annotations

from typing import Any

from headscope.capture import Kind
from headscope.errors import HeadscopeError
from headscope.surfaces.app.readings import KeptReading

CHARTED = 8  # neurons shown


def why(
    kept: KeptReading, kind: Kind, layer: int, head: int
) -> tuple[dict[str, Any] | None, str | None]:
    """The neurons behind the label, or a sentence on why there is nothing to say."""
    from headscope.patterns.explain import explain

    try:
        found: Any = explain(kept.reading, layer, head, kind=kind)
    except HeadscopeError as error:
        return None, str(error)
    rows = found.neurons.head(CHARTED)
    marked = [int(neuron) for neuron in list(found.order)[:CHARTED]]
    reply = {
        "text": found.words,
        "sentence": _sentence(found),
        "neurons": [
            {
                "name": str(row.neuron),
                "contribution": float(row.contribution),
                "share": float(row.share) if row.share == row.share else 0.0,
            }
            for row in rows.itertuples()
        ],
        "marked": marked,
        "share": float(found.neurons["share"].head(len(marked)).sum()),
    }
    return reply, None


def _sentence(found: Any) -> str:
    if found.delta.total <= 0:
        return "Its neurons together do not lift what the label names above the rest."
    share, size = found.delta.share(found.size), found.size
    unit = found.unit if size > 1 else found.unit.removesuffix("s")
    return (
        f"{size} of {found.count} {unit} carry {share:.0%} of what lifts these words above the "
        f"others; without them the score goes from {found.causal.score:.2f} to "
        f"{found.causal.without:.2f}."
    )


def over_corpus(kept: KeptReading, kind: Kind, layer: int, head: int) -> dict[str, Any] | None:
    """The bundled model's own label, measured once over 400 pairs of sentences."""
    from headscope.models.open import NAME
    from headscope.patterns.bundled_labels import bundled_labels

    if kept.reading.model != NAME:
        return None
    table: Any = bundled_labels()
    here = table[(table["kind"] == kind) & (table["layer"] == layer) & (table["head"] == head)]
    if here.empty:
        return None
    row = here.sort_values("score", ascending=False).iloc[0]
    return {
        "label": str(row["label"]),
        "score": float(row["score"]),
        "evidence": (
            f"± {1.96 * float(row['error']):.3f} over {int(row['documents'])} texts, "
            f"{float(row['lift']):.1f} times what even attention gives."
        ),
    }
