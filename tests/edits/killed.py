"""A command that keeps what it has after every batch and takes its time; see test_stopped."""

from __future__ import annotations

import sys
import time

import torch

from headscope import cli
from headscope.runs import checkpoint as partial

torch.set_num_threads(1)
partial.KEEP_EVERY = -1.0
whole_keep = partial.keep


def keep(*given) -> None:
    whole_keep(*given)
    time.sleep(0.2)


partial.keep = keep  # pyright: ignore[reportAttributeAccessIssue]
sys.argv[0] = "headscope"
cli.main()
