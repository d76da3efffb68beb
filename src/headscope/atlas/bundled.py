"""The atlas of the bundled model, which comes with the package.

Made of chapters of four novels in the public domain by `python -m training.bundled_atlas`.
"""

from __future__ import annotations

from headscope.atlas.atlas import Atlas
from headscope.models.open import BUNDLED

FILE = BUNDLED / "bundled.atlas"


def bundled_atlas() -> Atlas:
    """The bundled model's atlas: every head over a few hundred pairs of sentences."""
    return Atlas.load(FILE)
