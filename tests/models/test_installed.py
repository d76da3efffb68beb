"""A transformers library that headscope does not read is named before a model is opened."""

from __future__ import annotations

import importlib.metadata
import tomllib
from pathlib import Path

import pytest

import headscope as hs
from headscope.errors import HeadscopeError
from headscope.models.open import LEAST, check_transformers


@pytest.mark.parametrize("version", ["4.57.6", "5.9.1"])
def test_an_older_transformers_is_refused_in_one_sentence(monkeypatch, version: str) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    check_transformers.cache_clear()
    with pytest.raises(HeadscopeError, match=f"{version} is installed; run: pip install"):
        hs.load()
    check_transformers.cache_clear()


def test_the_package_asks_for_the_version_that_is_read() -> None:
    about = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    asked = f"transformers>={LEAST[0]}.{LEAST[1]}"
    assert asked in about["project"]["dependencies"]
