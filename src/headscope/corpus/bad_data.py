"""Bad data: each fault named by file and line, then skipped or refused as the user chose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from headscope.errors import BadInput

Choice = Literal["skip", "refuse"]

LONGEST_NUMBER = 15  # most digits of a position in a text
KEPT = 200  # most faults kept as sentences; the rest are only counted, so memory stays flat


@dataclass(frozen=True)
class Fault:
    """One thing wrong with the data."""

    kind: str
    where: str  # file:line
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


@dataclass
class Faults:
    """The faults in the data read so far, and whether to skip them or raise."""

    choice: Choice = "skip"
    counts: Counter[str] = field(default_factory=Counter[str])
    kept: list[Fault] = field(default_factory=list[Fault])

    def __post_init__(self) -> None:
        if self.choice not in ("skip", "refuse"):
            raise BadInput(f"bad_data= is 'skip' or 'refuse', not {self.choice!r}.")

    def note(self, kind: str, where: str, message: str) -> None:
        """Count a fault, or raise if the user chose to refuse bad data."""
        if self.choice == "refuse":
            fault = Fault(kind, where, message)
            raise BadInput(f"{fault}; correct the data, or choose to skip bad data.")
        self.remark(kind, where, message)

    def remark(self, kind: str, where: str, message: str) -> None:
        """Count an item that is left out although it is valid."""
        self.counts[kind] += 1
        if len(self.kept) < KEPT:
            self.kept.append(Fault(kind, where, message))

    def add(self, other: Faults) -> None:
        """Add the faults that another pass found."""
        self.counts.update(other.counts)
        self.kept.extend(other.kept[: KEPT - len(self.kept)])

    def described(self) -> dict[str, Any]:
        """As JSON, for a run's checkpoint."""
        kept = [[fault.kind, fault.where, fault.message] for fault in self.kept]
        return {"choice": self.choice, "counts": dict(self.counts), "kept": kept}

    @staticmethod
    def restored(described: Mapping[str, Any]) -> Faults:
        kept = [Fault(*one) for one in described["kept"]]
        return Faults(described["choice"], Counter(described["counts"]), kept)

    def __len__(self) -> int:
        return sum(self.counts.values())

    def summary(self) -> str:
        """One line for a report, empty when nothing was wrong."""
        if not self.counts:
            return ""
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.counts.most_common())
        return f"left out: {kinds} (first: {self.kept[0]})"


def unreadable(text: str) -> bool:
    """Whether a text has a lone surrogate, such as from a byte that was not UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def whole_number(text: str) -> int | None:
    """A whole number written in ASCII digits, or None; `²` counts as a digit for str.isdigit."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER else None
