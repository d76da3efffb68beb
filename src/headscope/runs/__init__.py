"""Runs: long work with checkpoints and progress, which can be stopped and resumed.

All long work uses this folder, in this way::

    from headscope.files import write_table
    from headscope.runs import Run, State, fingerprint, scope_identity

    def count_words(scope, texts, *, output=None, restart=False, progress=True):
        identity = {**scope_identity(scope), "texts": fingerprint(texts)}
        with Run(output, identity, title="Counting", restart=restart, progress=progress) as run:
            part = run.part("counts")
            state = part.recall()  # what an earlier run kept, or None
            done, counts = (state.position["texts"], state.arrays["counts"]) if state else (0, ...)
            for number in range(done, len(texts)):
                with part.step(lambda: State({"texts": number + 1}, {"counts": counts})):
                    counts += count(texts[number])  # whole or not at all, even under Ctrl-C
                run.tell(number + 1, len(texts))
            if output is not None:
                write_table(table(counts), output)
        return counts

`identity` is everything that decides the result: an output begun with another identity raises an
error that says what differs. While the block is open no other process can write the output. If it
ends well, the checkpoint beside the output is removed; after an error or Ctrl-C the latest state
stays, and Ctrl-C becomes `Stopped`, whose message says how to resume. A run with several long steps
uses `run.table(name, compute)` for finished tables and `run.place(name)` as the output of a run
inside it. Without an output there is no checkpoint.
"""

from headscope.errors import Stopped as Stopped
from headscope.runs.identity import Fingerprint as Fingerprint
from headscope.runs.identity import describe as describe
from headscope.runs.identity import fingerprint as fingerprint
from headscope.runs.identity import model_fingerprint as model_fingerprint
from headscope.runs.identity import scope_identity as scope_identity
from headscope.runs.part import RunPart as RunPart
from headscope.runs.part import State as State
from headscope.runs.run import Progress as Progress
from headscope.runs.run import ProgressCallback as ProgressCallback
from headscope.runs.run import Run as Run
