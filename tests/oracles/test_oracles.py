"""Every number agrees with programs and definitions that nobody here wrote."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.oracles.comparison import installed
from tests.oracles.table import ORACLES, PAGE, rows_of


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.__name__.split(".")[-1])
def test_headscope_agrees_with_the_oracle(oracle: ModuleType) -> None:
    if not installed(*oracle.PACKAGES):
        pytest.skip(f"needs {', '.join(oracle.PACKAGES)}")
    compared = list(oracle.compare())
    assert compared
    wrong = [one for one in compared if not one.difference <= one.allowed]
    assert not wrong, wrong


@pytest.mark.slow
def test_the_page_users_read_names_every_oracle() -> None:
    written = PAGE.read_text()
    for oracle in ORACLES:
        assert oracle.TITLE in written
    assert len(rows_of(written)) >= len(ORACLES)
