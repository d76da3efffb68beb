"""GloVe files and what is done without them."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.errors import BadInput
from headscope.probes.all_heads.vectors import load_glove


def test_a_glove_file_gives_lower_cased_vectors_and_zeros_for_the_unknown(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text("the 1 2\ncat 3 4\n")
    vectors = load_glove(path, ["The", "dog"])
    np.testing.assert_array_equal(vectors(["The", "dog"]), [[1, 2], [0, 0]])
    assert vectors.known(["the", "dog"]) == 0.5


def test_a_torn_line_is_named(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text("the 1 2\ncat 3\n")
    with pytest.raises(BadInput, match=r"g.txt:2 has 1 numbers instead of 2"):
        load_glove(path)
