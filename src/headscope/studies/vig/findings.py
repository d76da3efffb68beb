"""The study's findings, computed once so that all sections have the same numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headscope.errors import HeadscopeError
from headscope.patterns.explain import explain
from headscope.patterns.explain.score import head_score
from headscope.patterns.pattern import Pattern, pattern_named, patterns

if TYPE_CHECKING:
    import pandas as pd

    from headscope.atlas.atlas import Atlas
    from headscope.patterns.explain import Explanation
    from headscope.reading import Reading, Scope
    from headscope.studies.vig.texts import Corpus


@dataclass
class Findings:
    """The scope, its heads' scores, and readings for the views."""

    scope: Scope
    corpus: Corpus
    scores: pd.DataFrame  # headscope.patterns.evidence.COLUMNS
    atlas: Atlas  # the same heads over the same corpus, with the examples behind their scores
    post: Reading  # the posts' own sentence pair
    examples: list[Reading]  # some corpus pairs
    left_out: dict[str, str] = field(default_factory=dict[str, str])  # pattern -> why
    _examples: dict[str, tuple[Reading, float] | None] = field(default_factory=dict, repr=False)
    _reasons: dict[str, tuple[Explanation, Reading] | None] = field(
        default_factory=dict, repr=False
    )

    @property
    def measured(self) -> tuple[str, ...]:
        return tuple(name for name in patterns() if name in set(self.scores["pattern"]))

    def top(self, name: str, n: int = 5) -> Any:
        """The heads that score highest on a pattern."""
        here: Any = self.scores[self.scores["pattern"] == name]
        return here.nlargest(n, "score").reset_index(drop=True)

    def best(self, name: str) -> tuple[int, int]:
        """Layer and head of the highest score."""
        first = self.top(name, 1).iloc[0]
        return int(first["layer"]), int(first["head"])

    def example(self, name: str) -> tuple[Reading, float] | None:
        """The corpus pair on which the pattern's best head shows it most clearly."""
        if name not in self._examples:
            self._examples[name] = self._clearest(name)
        return self._examples[name]

    def _clearest(self, name: str) -> tuple[Reading, float] | None:
        layer, head = self.best(name)
        pattern = self.pattern(name)
        if pattern.needs_likeness:  # predictions are measured on a sample, not per text
            return None
        scored = [(head_score(one, layer, head, pattern), one) for one in self.examples]
        defined = [(score, one) for score, one in scored if score == score]
        if not defined:
            return None
        score, chosen = max(defined, key=lambda pair: pair[0])
        return chosen, score

    def explanation(self, name: str) -> tuple[Explanation, Reading] | None:
        """Why the best head shows the pattern: on the posts' pair, or else on its example."""
        if name not in self._reasons:
            self._reasons[name] = self._reason(name)
        return self._reasons[name]

    def _reason(self, name: str) -> tuple[Explanation, Reading] | None:
        layer, head = self.best(name)
        for reading in (self.post, None):
            shown = reading or (self.example(name) or (None,))[0]
            try:
                return None if shown is None else (explain(shown, layer, head, name), shown)
            except HeadscopeError:  # no token of this text has a target; the example has one
                continue
        return None

    def pattern(self, name: str) -> Pattern:
        """The pattern, with the model's own likeness where it compares words."""
        from headscope.patterns.likeness import likeness_of
        from headscope.patterns.rank_correlation import RankPattern

        found = pattern_named(name)
        if isinstance(found, RankPattern) and found.follows == "embeddings":
            likeness = likeness_of(self.scope)
            return found if likeness is None else found.comparing(likeness)
        return found
