"""A command that keeps what it has after every batch and takes its time; see test_stopped."""

from __future__ import annotations

import sys
import time

import torch

from headscope import cli
from headscope.runs import part

torch.set_num_threads(1)
part.KEEP_EVERY, part.SHARE = -1.0, 0
whole_keep = part.RunPart.keep


def keep(self) -> None:
    whole_keep(self)
    time.sleep(0.2)


part.RunPart.keep = keep  # pyright: ignore[reportAttributeAccessIssue]
sys.argv[0] = "headscope"
cli.main()
