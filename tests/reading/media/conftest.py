"""Models with weights drawn anew for every test, always the same."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(autouse=True)
def drawn_alike() -> None:
    torch.manual_seed(0)
