"""Coreference brackets, `(1` … `1)`, gathered into mentions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from headscope.corpus.bad_data import Faults

# "(12", "12)", "(12)", and CorefUD's "(e12-person-1" … "e12)"; "[1/2]" marks parts of a mention
MARK = re.compile(r"(\()?([^()|\[\]-]+)(\[\d+/\d+\])?(?:-[^()|]*)?(\))?")


@dataclass
class Brackets:
    """Spans opened and closed while the words of a document go by."""

    name: str
    faults: Faults
    spans: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    _open: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])

    def see(self, word: int, marks: str, line: int) -> None:
        """Read the brackets on one word's line."""
        for opens, cluster, part, closes in MARK.findall(marks):
            if part:
                message = f"mention {cluster} is in parts, which a span cannot say"
                self.faults.note("mention in parts", f"{self.name}:{line}", message)
            elif opens and closes:
                self.spans.append((word, word + 1, cluster))
            elif opens:
                self._open.append((cluster, word, line))
            elif closes:
                self._close(word, cluster, line)

    def end(self) -> list[tuple[int, int, str]]:
        """The spans of the document, by start, the longer first."""
        for cluster, _, line in self._open:
            message = f"mention {cluster} is opened and never closed"
            self.faults.note("unclosed mention", f"{self.name}:{line}", message)
        self._open.clear()
        return sorted(self.spans, key=lambda span: (span[0], -span[1]))

    def _close(self, word: int, cluster: str, line: int) -> None:
        for index in range(len(self._open) - 1, -1, -1):  # the innermost of that cluster
            if self._open[index][0] == cluster:
                _, start, _ = self._open.pop(index)
                self.spans.append((start, word + 1, cluster))
                return
        message = f"mention {cluster} is closed and was never opened"
        self.faults.note("unopened mention", f"{self.name}:{line}", message)
