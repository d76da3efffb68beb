"""JSON that headscope writes and reads has a checksum, and JSON of others is parsed guardedly."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from headscope.errors import BadInput
from headscope.files import read_json, write_json
from headscope.json_text import parse_json

HELD = {"weights": [[0.5, -0.25], [1e-9, float("inf")]], "model": "BERT, “tiny”", "at": None}


@pytest.mark.parametrize("indent", [None, 1])
def test_what_is_written_is_read_and_a_flipped_bit_is_noticed(tmp_path: Path, indent) -> None:
    path = tmp_path / "a.json"
    write_json({"format": "a format", **HELD}, path, indent)
    assert read_json("a format", path) == HELD
    assert json.loads(path.read_text())["format"] == "a format"  # any other program reads it
    whole, chance = path.read_bytes(), random.Random(26)
    for _ in range(300):
        data = bytearray(whole)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
        with pytest.raises((BadInput, ValueError)):
            read_json("a format", path)
    path.write_bytes(whole)
    with pytest.raises(ValueError, match="another format"):
        read_json("another", path)


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "", "1e", b'"\xff\xfe'])
def test_json_that_cannot_be_read_is_a_value_error(text) -> None:
    with pytest.raises(ValueError):
        parse_json(text)
