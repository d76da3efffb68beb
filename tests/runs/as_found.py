"""What a stopped run must leave as it found it: the model, open doors, torch, the signal."""

from __future__ import annotations

import signal
from typing import Any

import torch
from torch.overrides import _get_current_function_mode_stack

from headscope.capture import active, switch
from headscope.models import evaluation
from headscope.runs.identity import model_fingerprint


def state_of(model: Any) -> dict[str, Any]:
    """Everything of a model that headscope touches while it runs."""
    hooked = {
        name: (len(part._forward_hooks), len(part._forward_pre_hooks), part.training)
        for name, part in model.named_modules()
    }
    return {
        "weights": model_fingerprint(model),
        "hooks and mode": hooked,
        "stood in for": [n for n, part in model.named_modules() if "forward" in part.__dict__],
        "attention": model.config._attn_implementation_internal,
    }


def left_open() -> list[str]:
    """What is still open in this process; nothing should be."""
    found = {
        "doors": active.stack.doors,
        "a closed tap": active.stack.tap_closed,
        "switched configurations": switch._switched,
        "models in evaluation mode": evaluation._running,
        "torch function modes": _get_current_function_mode_stack(),
        "gradients off": not torch.is_grad_enabled(),
        "the signal": signal.getsignal(signal.SIGINT) is not signal.default_int_handler,
    }
    return [name for name, value in found.items() if value]
