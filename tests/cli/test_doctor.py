"""`headscope doctor` tells the truth about an installation."""

from __future__ import annotations

import importlib.metadata

import pytest
from typer.testing import CliRunner

import headscope as hs
from headscope.cli import build


def test_the_doctor_names_versions_devices_and_a_reading_that_works() -> None:
    done = CliRunner().invoke(build(), ["doctor"])
    assert done.exit_code == 0
    told = {line.split()[0]: line for line in done.output.splitlines()}
    assert importlib.metadata.version("torch") in told["torch"]
    assert "threads" in told["cpu"]
    assert "works: 12 layers × 8 heads" in told["first"]


def test_an_installation_that_cannot_read_fails_with_what_was_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise OSError("model.safetensors is missing")

    monkeypatch.setattr(hs, "load", broken)
    done = CliRunner().invoke(build(), ["doctor"])
    assert done.exit_code == 1
    assert "failed: OSError: model.safetensors is missing" in done.output
