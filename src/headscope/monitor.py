"""Monitors by name: `hs.monitor.fit(scope, hs.monitor.injected(documents))`.

A monitor reads a few heads' attention in the forward pass that reads a prompt. It scores whether an
answer rests on its context, or whether a document contains an instruction.
"""

from __future__ import annotations

from headscope.checked import checked
from headscope.grounding.monitors import fit as _fit
from headscope.grounding.monitors import labelled as _labelled
from headscope.grounding.monitors.monitor import Monitor

__all__ = ["Monitor", "context_kept", "fit", "injected", "save_labelled"]

fit = checked(_fit.fit)
context_kept = checked(_labelled.context_kept)
injected = checked(_labelled.injected)
save_labelled = checked(_labelled.save_labelled)
