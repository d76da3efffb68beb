"""Terms in the app's panel are explained in the words of the glossary."""

from __future__ import annotations

import re
from pathlib import Path

from headscope.measures.glossary import GLOSSARY

PAGE = Path(__file__).parents[2] / "docs" / "understand" / "glossary.md"


def test_the_app_s_words_mean_what_the_glossary_says():
    rows = dict(re.findall(r"^\| \*\*([\w ]+)\*\* \| (.*?) \|", PAGE.read_text("utf-8"), re.M))
    rows |= {"query": "the token that attends", "key": "the token attended to"}  # one row of two
    assert {"entropy", "lift", "induction", "sink"} <= GLOSSARY.keys()
    for word, meaning in GLOSSARY.items():
        assert rows[word] == meaning, word
