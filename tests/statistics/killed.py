"""A survey that takes its time, to be killed from outside; see test_faults."""

from __future__ import annotations

import sys
import time

import torch

import headscope as hs
from headscope.runs import checkpoint as partial
from tests.tiny import tiny_scope

torch.set_num_threads(1)
partial.KEEP_EVERY = 0.0  # pyright: ignore[reportAttributeAccessIssue]
corpus, output = sys.argv[1:]
hs.survey(
    tiny_scope("BertForPreTraining"),
    corpus,
    output=output,
    chunk=4,
    distances=True,
    progress=lambda report: time.sleep(0.05),
)
