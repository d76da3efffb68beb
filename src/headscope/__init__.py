"""See, measure and explain what every attention head of a Transformer does.

    import headscope as hs
    reading = hs.load().read("I went to the store.", "At the store, I bought fresh strawberries.")
    hs.head_view(reading)

Names load what they need on first use, so that `import headscope` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from headscope._version import __version__
from headscope.view_names import view_functions

if TYPE_CHECKING:
    from headscope import circuits as circuits
    from headscope import probe as probe
    from headscope import studies as studies
    from headscope.atlas.atlas import Atlas as Atlas
    from headscope.atlas.make import atlas as atlas
    from headscope.circuits.logits.attribute import attribute as attribute
    from headscope.edits.ablate import ablate as ablate
    from headscope.edits.importance import importance as importance
    from headscope.errors import BadInput as BadInput
    from headscope.errors import HeadscopeError as HeadscopeError
    from headscope.errors import Stopped as Stopped
    from headscope.finetuning.compare import compare as compare
    from headscope.finetuning.finetune import finetune as finetune
    from headscope.patterns.explain import explain as explain
    from headscope.patterns.result import patterns as patterns
    from headscope.reading import Reading as Reading
    from headscope.reading import Scope as Scope
    from headscope.reading import load as load
    from headscope.reading.word_times import word_times as word_times
    from headscope.statistics import Survey as Survey
    from headscope.statistics.media.pointing import pointing_game as pointing_game
    from headscope.statistics.survey.run import survey as survey

_HOMES = {
    "Atlas": "headscope.atlas",
    "BadInput": "headscope.errors",
    "HeadscopeError": "headscope.errors",
    "Stopped": "headscope.errors",
    "Reading": "headscope.reading",
    "Scope": "headscope.reading",
    "Survey": "headscope.statistics",
    "atlas": "headscope.atlas",
    "ablate": "headscope.edits.ablate",
    "attribute": "headscope.circuits.logits.attribute",
    "circuits": "headscope.circuits",
    "compare": "headscope.finetuning.compare",
    "explain": "headscope.patterns.explain",
    "finetune": "headscope.finetuning.finetune",
    "importance": "headscope.edits.importance",
    "load": "headscope.reading",
    "patterns": "headscope.patterns",
    "probe": "headscope.probe",
    "studies": "headscope.studies",
    "survey": "headscope.statistics.survey.run",
    **dict.fromkeys(view_functions().values(), "headscope.surfaces"),
    "pointing_game": "headscope.statistics.media.pointing",
    "word_times": "headscope.reading.word_times",
}

__all__ = ["__version__", *sorted(_HOMES)]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'headscope' has no attribute {name!r}")
    module = importlib.import_module(home)
    # `hs.probe` is a module, and so is `hs.patterns`, which can be called as well
    value = module if home == f"headscope.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
