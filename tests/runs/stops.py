"""Ctrl-C at random moments: every kind of run in this process, every command in one of its own.

`python -m tests.runs.stops --times 20` stops each twenty times and prints what came of it. A run
is stopped by a timer of processor time, so between any two instructions; a command by a signal
from outside. After every stop nothing may be left open, and what the last run of a chain of stops
leaves behind must be what an undisturbed one leaves, to the bit.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import os
import pkgutil
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import headscope as hs
from headscope.__main__ import main as command
from tests.runs.as_found import left_open, state_of
from tests.runs.commands import COMMANDS, SHORT, make_work
from tests.runs.kinds import RUNS, SMALL_STEPS, make_scopes, result

LONGEST_CHAIN = 3  # stops before a run is left to end
ATTEMPTS = 8  # for each stop wanted: some come when all is done
LIMIT = 120.0  # seconds for one command
BEFORE = 99  # the signal was there before the command was


def stopped_after(seconds: float, go: Callable[[], None]) -> KeyboardInterrupt | None:
    """Run, and be interrupted after so much processor time; None if it was done before that."""
    signal.signal(signal.SIGPROF, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        signal.setitimer(signal.ITIMER_PROF, max(seconds, 1e-4))
        try:
            go()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except KeyboardInterrupt as stop:
        return stop
    return None


def stop_runs(name: str, times: int, place: Path, scopes: dict[str, hs.Scope]) -> Counter[str]:
    """Stop one kind of run so many times, and look at what it left each time."""
    output, go = RUNS[name]

    def run(folder: Path) -> None:
        go(scopes, "", folder / output, progress=False)

    for first in ("warm", "whole"):
        (place / first / "o").mkdir(parents=True)
        begun = time.process_time()
        run(place / first / "o")
    takes, whole = time.process_time() - begun, result(place / "whole" / "o")
    models = {key: scope.model for key, scope in scopes.items()}
    before = {key: state_of(model) for key, model in models.items()}
    seen: Counter[str] = Counter()
    for folder in folders(place, times):
        for _ in range(random.randint(1, LONGEST_CHAIN)):
            stop = stopped_after(random.random() * takes, functools.partial(run, folder))
            if stop is None:
                break
            # looked at while the traceback still holds every frame: nothing is left to chance
            wrong = left_open() + [k for k, m in models.items() if state_of(m) != before[k]]
            seen["left open: " + ", ".join(wrong) if wrong else "stopped"] += 1
            seen["went on"] += "kept in" in str(stop)
            del stop
        if result(folder) != whole:  # or the stop came when all was done
            run(folder)
        seen["the undisturbed result" if result(folder) == whole else "ANOTHER RESULT"] += 1
        if seen["stopped"] >= times:
            break
    return seen


def stop_commands(name: str, times: int, place: Path, work: Path) -> Counter[str]:
    """The same of a command: its exit code and what it says, by a signal from outside."""
    words = (COMMANDS | SHORT)[name]

    def beside(folder: Path) -> None:
        for path in work.iterdir():
            (folder / path.name).symlink_to(path)

    (place / "whole").mkdir(parents=True)
    beside(place / "whole")
    begun = time.monotonic()
    code, said = ended(start(words, place / "whole"), place / "whole")
    takes = time.monotonic() - begun
    assert code == 0, said
    whole = made(place / "whole")
    seen: Counter[str] = Counter()
    for folder in folders(place, times):
        beside(folder)
        for _ in range(random.randint(1, LONGEST_CHAIN)):
            process = start(words, folder)
            time.sleep(random.random() * takes)
            os.kill(process, signal.SIGINT)
            code, said = ended(process, folder)
            if code in (0, BEFORE):
                break
            one_sentence = said.strip().count("headscope: Stopped") == 1 and "Trace" not in said
            seen["stopped" if code == 130 and one_sentence else f"{code}: {said[-400:]}"] += 1
            seen["went on"] += "kept in" in said
        if code != 0 and made(folder) != whole:
            code, said = ended(start(words, folder), folder)
        good = made(folder) == whole
        seen["the undisturbed result" if good else f"ANOTHER RESULT {code} {said[-400:]}"] += 1
        if seen["stopped"] >= times:
            break
    return seen


def folders(place: Path, times: int) -> Iterator[Path]:
    for number in range(times * ATTEMPTS):
        folder = place / str(number) / "o"
        folder.mkdir(parents=True)
        yield folder
        shutil.rmtree(folder.parent)


def made(folder: Path) -> dict[str, Any]:
    """What a command left beside what it was given, and what it printed."""
    found = result(folder)
    return {name: value for name, value in found.items() if name != "said"}


def start(words: tuple[str, ...], folder: Path) -> int:
    """The command in a process of its own, which need not import torch again."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # until the command has begun
    process = os.fork()
    if process:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        return process
    code = 1
    try:
        os.chdir(folder)
        torch.set_num_threads(1)  # its threads are gone; several that ask for them at once fail
        for number, name in ((1, "printed"), (2, "said")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.argv = ["headscope", *words]
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            command()
        except KeyboardInterrupt:  # before the command: nobody could have said anything
            code = BEFORE
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def ended(process: int, folder: Path) -> tuple[int, str]:
    limit = time.monotonic() + LIMIT
    while (found := os.waitpid(process, os.WNOHANG))[0] == 0:
        if time.monotonic() > limit:
            os.kill(process, signal.SIGKILL)
        time.sleep(0.005)
    return os.waitstatus_to_exitcode(found[1]), (folder / "said").read_text()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--what", choices=["runs", "commands", "both"], default="both")
    parser.add_argument("--only", nargs="*", help="runs and commands, by name; all unless told")
    given = parser.parse_args()

    def wanted(name: str) -> bool:
        return not given.only or name in given.only

    seed = time.time_ns() % 10**6 if given.seed is None else given.seed
    print(f"--seed {seed}", flush=True)
    random.seed(seed)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
    torch.set_num_threads(1)
    os.environ["COLUMNS"] = "200"
    import_everything()
    patch_small_steps()
    faults = 0
    print("| what is stopped | stops | kept and went on | ended alike | anything else |")
    print("|---|--:|--:|--:|---|", flush=True)
    with tempfile.TemporaryDirectory() as place:
        work = Path(place) / "work"
        work.mkdir()
        make_work(work)
        scopes = make_scopes()
        jobs: list[tuple[str, Callable[[Path], Counter[str]]]] = [
            (f"`headscope {COMMANDS.get(n, SHORT.get(n, ()))[0]}`, {n}",
             lambda at, n=n: stop_commands(n, given.times, at, work))
            for n in COMMANDS | SHORT if given.what != "runs" and wanted(n)
        ]  # fmt: skip
        jobs += [
            (f"run: {n}", lambda at, n=n: stop_runs(n, given.times, at, scopes))
            for n in RUNS if given.what != "commands" and wanted(n)
        ]  # fmt: skip
        for number, (title, job) in enumerate(jobs):
            seen = job(Path(place) / f"job{number}")
            good = ("stopped", "went on", "the undisturbed result")
            other = {what: count for what, count in seen.items() if what not in good and count}
            faults += bool(other) or seen["stopped"] < given.times
            shown = " | ".join(str(seen[what]) for what in good)
            print(f"| {title} | {shown} | {other or '–'} |", flush=True)
    sys.exit(1 if faults else 0)


def import_everything() -> None:
    """So that a process made by forking need not: a stop is then amid work, not amid imports."""
    for found in pkgutil.walk_packages(hs.__path__, "headscope."):
        with contextlib.suppress(ImportError):
            importlib.import_module(found.name)
    for name in ("matplotlib.pyplot", "pyarrow.parquet", "transformers.models.bert.modeling_bert",
                 "transformers.models.gpt2.modeling_gpt2", "safetensors.torch"):  # fmt: skip
        importlib.import_module(name)


def patch_small_steps() -> None:
    for name, value in SMALL_STEPS.items():
        module, attribute = name.rsplit(".", 1)
        setattr(importlib.import_module(module), attribute, value)


if __name__ == "__main__":
    main()
