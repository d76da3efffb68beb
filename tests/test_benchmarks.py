"""`make bench` runs every benchmark without arguments."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks.word_times import words_of

ROOT = Path(__file__).parents[1]
# a GPU's, and a tool that makes data
OTHERS = ("gpu_truth", "app_gpu", "survey_gpu", "text_gpu", "word_times")
RUN = [one for one in sorted((ROOT / "benchmarks").glob("[a-z]*.py")) if one.stem not in OTHERS]


def test_a_digit_is_aligned_as_its_name_and_a_longer_number_is_no_word_of_the_dictionary():
    found = words_of("Press 1, or 25 — re-enter.")
    assert [written for written, _ in found] == ["Press", "1,", "or", "25", "re-enter."]
    assert [spoken for _, spoken in found] == [["press"], ["one"], ["or"], ["25"], ["re", "enter"]]


@pytest.mark.parametrize("script", RUN, ids=lambda one: one.stem)
def test_a_benchmark_runs_without_arguments(script: Path) -> None:
    for call in ast.walk(ast.parse(script.read_text("utf-8"))):
        if not isinstance(call, ast.Call) or getattr(call.func, "attr", "") != "add_argument":
            continue
        options = {one.arg: ast.unparse(one.value) for one in call.keywords}
        named = ast.literal_eval(call.args[0])
        assert named.startswith("-") or "nargs" in options, f"{named} must be given"
        assert options.get("required") != "True", f"{named} must be given"
