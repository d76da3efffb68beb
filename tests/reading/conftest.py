"""Tiny models gain nothing from many threads and lose much to waiting for each other."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _in_one_thread(one_thread: None) -> None:
    """Every test of this folder."""
