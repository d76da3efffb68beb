"""The answers of a long run so far, kept beside its output so that a stopped run goes on there."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from headscope._version import __version__
from headscope.runs import checkpoint as partial
from headscope.statistics.survey.identity import scope_identity

if TYPE_CHECKING:
    from headscope.reading import Scope
    from headscope.tasks.questions import Exam

Piece = tuple[np.ndarray, np.ndarray]  # b o, e b o: answers with no edit and under each


@dataclass(frozen=True)
class Kept:
    """Where answers are kept, and of which model, questions and settings they are."""

    output: Path
    identity: str
    fingerprint: str  # of the questions

    @staticmethod
    def beside(output: Path, scope: Scope, exam: Exam, **decides: object) -> Kept:
        """Beside the output; `decides` is what else the answers depend on."""
        known = {"version": __version__, **scope_identity(scope), **decides}
        return Kept(output, json.dumps(known, sort_keys=True), _fingerprint(exam))

    def recall(self) -> tuple[int, list[Piece]]:
        """How many batches an earlier run finished, and their answers in one piece."""
        found = partial.recall(self.output, self.identity)
        if found is None:
            return 0, []
        progress, arrays = found
        partial.check_corpus(progress, self.fingerprint)
        return progress.chunks, [(arrays["baseline"], arrays["edited"])]

    def keep(self, batches: int, pieces: list[Piece]) -> None:
        """Replace what was kept before by all there is now."""
        baseline, edited = joined(pieces)
        progress = partial.Progress(batches, len(baseline), self.fingerprint)
        arrays = {"baseline": baseline, "edited": edited}
        partial.keep(self.output, self.identity, progress, arrays)

    def forget(self) -> None:
        """To start anew, or once the output is written."""
        partial.forget(self.output)


def joined(pieces: list[Piece]) -> Piece:
    """The answers of all batches, in their order."""
    baseline, edited = zip(*pieces, strict=True)
    return np.concatenate(baseline), np.concatenate(edited, axis=1)


def _fingerprint(exam: Exam) -> str:
    """Tells apart questions that differ in a token, a label, or how they are batched."""
    digest = hashlib.sha256()
    for inputs, targets in exam.batches:
        for name, tensor in sorted({**inputs, "targets": targets}.items()):
            digest.update(f"{name}{tuple(tensor.shape)}".encode())
            digest.update(tensor.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:32]
