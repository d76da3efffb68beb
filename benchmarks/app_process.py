"""`headscope app` in a process of its own, asked as its page asks it, with notes of its threads.

    python -m benchmarks.app_process NOTES app -m FOLDER …

is the app itself, with a thread more that writes down every three seconds where the others are;
`App` starts it so. The notes are taken by Python code: faulthandler's own timer reads the threads
while they run, which can end the process it looks at.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

EVERY = 3  # seconds between two notes
STARTING = 60  # seconds a start may take
_THREAD = "Thread "


class NotAnsweringError(Exception):
    """The app ended, did not start or gave no answer in time; asking on would tell nothing."""


class App:
    def __init__(self, model: str, notes: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.notes = notes
        notes.touch()
        options = ["app", "-m", model, "--no-browser", "--port", str(self.port)]
        own = [sys.executable, "-u", "-m", "benchmarks.app_process", str(notes)]
        found = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        settings = {
            "XDG_CACHE_HOME": str(notes.parent),
            "PYTHONPATH": os.pathsep.join(part for part in found if part),
        }
        self.process = subprocess.Popen(
            [*own, *options, "--dtype", "bfloat16"], env={**os.environ, **settings}
        )
        # straight to this machine, whatever proxy the environment names
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask(self, path: str, body: Any = None, limit: float = 10) -> bytes:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with self._opener.open(request, timeout=limit) as answer:
            return answer.read()

    def ready(self) -> None:
        """Returns once the model is open; every ten seconds tells what is waited for."""
        began = told = time.perf_counter()
        while True:
            self.check()
            try:
                stage = json.loads(self.ask("/api/start", limit=5))
                if stage["doing"] is None:
                    return
                if stage["failed"] is not None:
                    raise NotAnsweringError(stage["failed"])
                seen = f"the app says {stage}"
            except (urllib.error.URLError, OSError, ValueError) as error:
                seen = f"no answer yet: {error!r}"
            now = time.perf_counter()
            if now - began > STARTING:
                raise NotAnsweringError(f"not started after {STARTING} s, {seen}")
            if now - told > 10:
                told = now
                print(f"  after {now - began:.0f} s {seen}\n{self.threads()}", flush=True)
            time.sleep(0.1)

    def check(self) -> None:
        """A process that ended has said why above, on the terminal they share."""
        code = self.process.poll()
        if code is not None:
            ended = f"by {signal.Signals(-code).name}" if code < 0 else f"with {code}"
            raise NotAnsweringError(f"the app's process ended {ended}")

    @property
    def memory(self) -> float:
        """GB of the host at most so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1e6

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def threads(self) -> str:
        """Where every thread was at the last note: the innermost line, and those of headscope."""
        if self.process.poll() is None:
            self._note_now()
        blocks = self.notes.read_text().split("== ")[-1].split(_THREAD)[1:]
        lines = (
            [line for line in block.splitlines()[1:] if line.startswith("  ")] for block in blocks
        )
        return "\n".join(f"    {_shown(one)}" for one in lines if one)

    def _note_now(self) -> None:
        """A process in which no Python runs notes nothing by itself: then the signal does."""
        size = self.notes.stat().st_size
        time.sleep(EVERY + 0.5)
        if self.notes.stat().st_size == size:
            self.process.send_signal(signal.SIGUSR1)
            time.sleep(0.5)

    def where(self) -> str:
        """The lines of headscope that threads were seen at most often."""
        seen: dict[str, int] = {}
        for block in self.notes.read_text().split(_THREAD):
            lines = [line for line in block.splitlines() if "/headscope/" in line]
            if lines and "_start" not in lines[-1]:
                at = " < ".join(_short(line) for line in lines[:3])
                seen[at] = seen.get(at, 0) + 1
        most = sorted(seen.items(), key=lambda item: -item[1])[:12]
        return "\n".join(f"  {count * EVERY:>4} s near {at}" for at, count in most)


def _shown(lines: list[str]) -> str:
    own = [line for line in lines if "/headscope/" in line][:3]
    return " < ".join(_short(line) for line in dict.fromkeys([lines[0], *own]))


def _short(line: str) -> str:
    path, _, rest = line.strip().removeprefix("File ").replace('"', "").partition(", line ")
    return f"{path.split('/headscope/')[-1].split('site-packages/')[-1]} {rest}"


def note_threads(notes: Path) -> None:
    """The stacks of all threads but this one, innermost line first, as faulthandler writes them."""
    while True:
        time.sleep(EVERY)
        told = [f"== {time.strftime('%X')}\n"]
        for number, frame in sys._current_frames().items():
            if number != threading.get_ident():
                told.append(f"{_THREAD}{number}\n")
                told += [
                    f'  File "{one.f_code.co_filename}", line {line} in {one.f_code.co_name}\n'
                    for one, line in traceback.walk_stack(frame)
                ]
        with notes.open("a") as written:
            written.writelines(told)


def main() -> None:
    notes = Path(sys.argv.pop(1))
    faulthandler.enable()  # a fault of the machine's is told on the terminal
    faulthandler.register(signal.SIGUSR1, file=notes.open("a"), all_threads=True)
    threading.Thread(target=note_threads, args=(notes,), daemon=True).start()
    from headscope.__main__ import main as command

    command()


if __name__ == "__main__":
    main()
