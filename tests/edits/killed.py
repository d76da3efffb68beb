"""A command that keeps what it has after every batch and takes its time; see test_stopped.

The first argument is a file: soon after it is kept, the command waits to be killed.
"""

from __future__ import annotations

import itertools
import sys
import time
from pathlib import Path

import torch

from headscope import cli
from headscope.runs import part

torch.set_num_threads(1)
part.KEEP_EVERY, part.SHARE = -1.0, 0
whole_keep = part.RunPart.keep
seen, later = Path(sys.argv.pop(1)), itertools.count()


def keep(self) -> None:
    whole_keep(self)
    # it is never done before it is killed, however late that comes on a busy machine
    time.sleep(0.1 if not seen.exists() or next(later) < 3 else 600)


part.RunPart.keep = keep  # pyright: ignore[reportAttributeAccessIssue]
sys.argv[0] = "headscope"
cli.main()
