"""Label the bundled model's heads over a corpus, so that they have names when the app opens.

    python -m training.label_heads CORPUS [--limit 400]

Writes `labels.json` beside the bundled model: what `headscope patterns` finds, labels alone.
"""

from __future__ import annotations

import argparse
import json
from importlib import resources

import headscope as hs
from headscope.files import atomic_path
from headscope.patterns.as_statistics import pattern_measures
from headscope.patterns.bundled_labels import FILE
from headscope.patterns.labels import labels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--limit", type=int, default=400)
    chosen = parser.parse_args()
    scope = hs.load()
    found = hs.survey(
        scope,
        chosen.corpus,
        pattern_measures(scope),
        segments="pairs",
        max_tokens=96,
        limit=chosen.limit,
    )  # fmt: skip
    frame = labels(found)
    text = json.dumps(
        {
            "segments": found.metadata["segments"],
            "labels": json.loads(frame.round(6).to_json(orient="records")),
        },
        indent=1,
    )
    target = resources.files("headscope.models") / "bundled" / FILE
    with resources.as_file(target) as path, atomic_path(path) as temporary:
        temporary.write_text(text + "\n", "utf-8")
    print(f"{len(frame)} labels of {frame.groupby(['layer', 'head']).ngroups} heads")


if __name__ == "__main__":
    main()
