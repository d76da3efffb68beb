"""One row of the architecture matrix."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Reads = Literal["text", "text to text", "picture", "sound", "waveform"]


@dataclass(frozen=True)
class Family:
    """One configuration: the class, what makes it small, and what is special about it."""

    name: str
    architecture: str
    sizes: dict[str, Any] = field(default_factory=dict[str, Any])
    notes: str = ""
    reads: Reads = "text"
    length: int = 9
    own_form: Literal["weights", "scores", "band"] = "weights"  # of its output_attentions
    paths_agree: bool = True  # transformers' sdpa and eager code of the family compute the same
