"""A survey that takes its time, to be killed from outside; see test_faults."""

from __future__ import annotations

import sys
import time

import torch

import headscope as hs
from headscope.runs import part
from tests.tiny import tiny_scope

torch.set_num_threads(1)
part.KEEP_EVERY, part.SHARE = -1.0, 0
corpus, output = sys.argv[1:]
hs.survey(
    tiny_scope("BertForPreTraining"),
    corpus,
    output=output,
    chunk=4,
    distances=True,
    # it is never done before it is killed, however late that comes on a busy machine
    progress=lambda report: time.sleep(0.05 if report.segments < 80 else 600),
)
