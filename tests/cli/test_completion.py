"""Tab in a real shell: what `--install-completion` writes completes commands and options."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 60  # seconds for a shell on a busy machine


def opened(shell: str, home: Path) -> Any:
    pexpect = pytest.importorskip("pexpect")
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    (home / ".zshrc").touch()  # without one, zsh asks a new user questions
    # without it, fish reads every manual page of the machine, for minutes after the test
    (home / ".local/share/fish/generated_completions").mkdir(parents=True, exist_ok=True)
    environment = {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "PYTHONPATH": str(ROOT / "src"),
        "TERM": "dumb",
        "LANG": "C.UTF-8",
    }
    child = pexpect.spawn(path, ["-i"], env=environment, cwd=str(home), timeout=PATIENCE)
    child.sendline("echo rea''dy")  # the answer is told apart from what was typed
    child.expect("ready\r?\n")
    return child


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_tab_completes_commands_and_options(shell: str, tmp_path: Path) -> None:
    first = opened(shell, tmp_path)
    first.sendline("headscope --install-completion")
    first.expect(f"{shell} completion installed")
    first.expect("restart the terminal")
    first.close(force=True)

    restarted = opened(shell, tmp_path)
    restarted.send("headscope surv\t")
    if shell == "zsh":  # the first Tab of a session reads the file
        restarted.expect("\a")
        restarted.send("\t")
    restarted.expect("ey ")
    restarted.send("--dist\t")
    restarted.expect("ances")
    restarted.close(force=True)
