"""A comparison under way: it keeps what it has, and goes on from there when it was stopped.

First both models read the texts side by side and their maps are compared; then each model is
surveyed. The sums of the first part lie in the output's partial file, which also says whose they
are; the surveys keep themselves, in hidden files beside it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope._version import __version__
from headscope.capture import Kind
from headscope.corpus.text.segments import Segment
from headscope.finetuning.change import Change, Sums, with_batch
from headscope.reading.decoder_text import encode_both
from headscope.runs import checkpoint as partial
from headscope.runs.progress import Report, Tell
from headscope.statistics import Survey
from headscope.statistics.survey.identity import Fingerprint, scope_identity
from headscope.statistics.survey.run import survey

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.text.tokenise import Batch, Text

Texts = list[tuple[str, str | None]]
SIDES = ("before", "after")
BATCH = 16


class Comparing:
    """Two models, the texts both read, and how far the run has come."""

    def __init__(
        self, a: Scope, b: Scope, texts: Texts, kind: Kind, longest: int, output: Path | None
    ) -> None:
        self._scopes, self._texts = (a, b), texts
        self._kind: Kind = kind
        self._longest, self._output = longest, output
        self._fingerprint = _fingerprint(texts)
        self._identity = ""
        self._sums = Sums.none(a, kind)
        self._read = Report(0, None, 0, 0)  # by the parts of the run that are done

    def begin(self, settings: dict[str, Any], parts: int, restart: bool) -> None:
        """Take up what an earlier run kept, or see to it that nothing of it is left.

        `parts` is how often all texts will be read, for the time left.
        """
        self._read = Report(0, parts * len(self._texts), 0, 0)
        if self._output is None:
            return
        models = [scope_identity(scope) for scope in self._scopes]
        known = {"version": __version__, "models": models, "kind": self._kind, **settings}
        self._identity = json.dumps({**known, "longest": self._longest}, sort_keys=True)
        kept = None if restart else partial.recall(self._output, self._identity)
        if kept is None:
            self.forget()
            self._keep()  # before the first survey is, so that it is known whose it is
            return
        progress, arrays = kept
        partial.check_corpus(progress, self._fingerprint)
        self._sums = Sums(dict(arrays), progress.segments)

    def change(self, tell: Tell) -> Change:
        """How far the heads' maps differ."""
        ordered, pace = by_length(self._texts), partial.Pace()
        a, b = self._scopes
        done = Report(self._sums.texts, self._read.total, self._sums.texts, 0)
        try:
            for start in range(self._sums.texts, len(ordered), BATCH):
                batch = batch_of(a, ordered[start : start + BATCH], self._longest)
                self._sums = with_batch(self._sums, a, b, batch, self._kind)
                done = _sum(done, len(batch), sum(map(len, batch.tokens)))
                tell(done)
                if pace.due():
                    self._keep()
        finally:
            self._keep()
        self._read = done
        return self._sums.mean(self._kind)

    def survey(self, side: int, statistics: Sequence[Any], tell: Tell) -> Survey:
        """A survey of one of the two models; a stop in it stops the comparison."""
        path = None if self._output is None else _survey_path(self._output, SIDES[side])
        if path is not None and path.exists() and (kept := Survey.load(path)).complete:
            self._read = _sum(self._read, len(self._texts), kept.metadata["tokens"])
            return kept
        before = self._read
        corpus = [text if pair is None else (text, pair) for text, pair in self._texts]
        found = survey(
            self._scopes[side],
            corpus,
            statistics=list(statistics),
            max_tokens=self._longest,
            output=path,
            progress=lambda report: tell(_sum(before, report.done, report.tokens)),
        )
        if not found.complete:
            raise KeyboardInterrupt
        self._read = _sum(before, len(self._texts), found.metadata["tokens"])
        return found

    def forget(self) -> None:
        """Nothing is kept once the output is written."""
        if self._output is None:
            return
        for side in SIDES:
            path = _survey_path(self._output, side)
            partial.forget(path)
            path.unlink(missing_ok=True)
        partial.forget(self._output)

    def _keep(self) -> None:
        if self._output is not None:
            progress = partial.Progress(segments=self._sums.texts, fingerprint=self._fingerprint)
            partial.keep(self._output, self._identity, progress, dict(self._sums.totals))


def by_length(texts: Texts) -> Texts:
    """Texts of like length side by side, so that little is padded."""
    return sorted(texts, key=lambda pair: len(pair[0]) + len(pair[1] or ""))


def batch_of(scope: Scope, texts: Texts, longest: int) -> Batch:
    """Texts as both models read them, cut to the longest allowed."""
    firsts, seconds = [text for text, _ in texts], [pair for _, pair in texts]
    if scope.encoder_decoder:  # without a second sentence the decoder reads the text again
        spoken: list[Text | None] = [pair or text for text, pair in texts]
        return encode_both(scope, firsts, spoken, truncate=True, max_length=longest)[0]
    return scope.encode(firsts, seconds, truncate=True, max_length=longest)


def _survey_path(output: Path, side: str) -> Path:
    return output.with_name(f".{output.name}.{side}.parquet")


def _fingerprint(texts: Texts) -> str:
    digest = Fingerprint()
    for number, (text, pair) in enumerate(texts):
        digest.add(Segment(number, number, text, pair))
    return digest.value


def _sum(report: Report, texts: int, tokens: int) -> Report:
    return Report(
        report.done + texts, report.total, report.segments + texts, report.tokens + tokens
    )
