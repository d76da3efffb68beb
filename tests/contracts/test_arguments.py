"""One vocabulary: all public functions and all commands use the same names for the same things."""

from __future__ import annotations

import importlib
import inspect
import re
from collections import defaultdict
from pathlib import Path
from types import FunctionType
from typing import Any, Literal, get_origin

import pytest

import headscope as hs
from headscope import checked
from tests.cli_page import commands

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "arguments.md"
# what these things are not called, and what they are
SYNONYMS = {
    "bad": "bad_data", "max_length": "max_tokens", "max_len": "max_tokens", "k": "n",
    "top_k": "n", "count": "n", "statistic": "statistics", "out": "output", "path_out": "output",
    "random_state": "seed", "model_name": "model", "batch": "batch_size", "which": "windows",
    "from_scratch_model": "from_scratch", "verbose": "progress", "resume": "restart",
    "chosen": "heads",
}  # fmt: skip
# every function takes an argument of that name as one of these
TYPES = {
    "scope": {"Scope"},
    "limit": {"int | None"},
    "output": {"str | Path | None"},
    "restart": {"bool"},
    "progress": {"bool | ProgressCallback"},
    "seed": {"int"},
    "bad_data": {"Choice"},
    "n": {"int"},
    "layer": {"int", "int | None"},
    "head": {"int", "int | None"},
    "trust_remote_code": {"bool"},
    "layout": {"Layout"},
    "heads": {"Sequence[int] | int | None", "Sequence[tuple[int, int]]",
              "Sequence[tuple[int, int]] | None", "Sequence[Head] | None"},
    "most_heads": {"int"},
}  # fmt: skip
LONG = {"output", "restart", "progress", "limit"}
# these show progress over prompts that fit in memory and keep nothing on the way: they take
# seconds a prompt, their result has `save`, and the prompts are a list that a caller can cut
AT_ONCE = {"attribute", "fit_head_weights", "ground"}
SHARED = ("--limit", "--max-tokens", "--seed", "--device", "--dtype", "--restart", "--bad-data",
          "--heads", "--heads-file", "--workers", "--trust-remote-code", "--field", "--layout",
          "--map", "--sample")  # fmt: skip


def functions() -> dict[str, FunctionType]:
    found: dict[str, FunctionType] = {}
    for home in (hs, hs.circuits, hs.emphasis, hs.monitor, hs.probe, hs.studies):
        for name in home.__all__:
            value: Any = getattr(home, name)
            if isinstance(value, FunctionType):
                found[f"{home.__name__}.{name}"] = value
    return found


def options() -> list[tuple[str, Any]]:
    return [(name, one) for name, command in commands() for one in command.params
            if one.param_type_name == "option"]  # fmt: skip


@pytest.mark.parametrize("name", functions())
def test_a_function_uses_the_vocabulary(name: str) -> None:
    taken = inspect.signature(functions()[name]).parameters
    for parameter in taken.values():
        assert parameter.name not in SYNONYMS, f"{name}: say {SYNONYMS[parameter.name]}="
        if parameter.name in TYPES:
            assert str(parameter.annotation) in TYPES[parameter.name], (name, str(parameter))
    if taken.keys() & {"output", "progress"} and name.rpartition(".")[2] not in AT_ONCE:
        assert taken.keys() >= LONG, f"{name} is long work and lacks {LONG - taken.keys()}"


# a grounding is of documents, a score of one head, a graph of many; heads in them are writers
OF_RESULTS = ("grounding_view", "score_view", "graph_view")
OF_HEADS = [one for one in functions() if one.endswith("_view") and not one.endswith(OF_RESULTS)]


@pytest.mark.parametrize("name", OF_HEADS)
def test_a_view_of_heads_takes_one_head_or_several(name: str) -> None:
    taken = inspect.signature(functions()[name]).parameters
    assert {"head", "heads"} <= set(taken)


def test_head_and_heads_open_on_the_same_head(tiny_bert: hs.Scope) -> None:
    reading = tiny_bert.read("the cat sat on the mat")
    for view in (hs.head_view, hs.matrix_view, hs.neuron_view, hs.text_view):
        one = view(reading, layer=1, head=2).state
        assert one == view(reading, layer=1, heads=[2]).state
        assert (one["layer"], one["head"]) == (1, 2)
    for given in ({"head": 1, "heads": [2]}, {"layers": 0}, {"hed": 1}):
        with pytest.raises(hs.BadInput):
            hs.head_view(reading, **given)
    with pytest.raises(hs.BadInput, match="one head"):
        hs.matrix_view(reading, layer=1, heads=[2, 3])


def test_commands_share_options_by_one_name_and_one_meaning() -> None:
    said: dict[str, set[Any]] = defaultdict(set)
    for name, option in options():
        for one in option.opts:
            assert one.lstrip("-").replace("-", "_") not in SYNONYMS, (name, one)
        if option.opts[0] in SHARED:
            said[option.opts[0]].add((*option.opts, option.help))
        if "--output" in option.opts:
            assert "-o" in option.opts, name
        if "--model" in option.opts:
            assert "-m" in option.opts, name
    assert {option: len(ways) for option, ways in said.items()} == dict.fromkeys(SHARED, 1)


def test_every_command_that_opens_a_model_takes_the_same_four() -> None:
    for name, command in commands():
        taken = {one for option in command.params for one in option.opts}
        if "--model" in taken or name in ("compare", "models"):
            needed = {"--device", "--trust-remote-code"}
            if name == "app":
                needed = {"--device"}
            elif name == "live":  # a graph is exported on the processor, in float32
                needed = {"--trust-remote-code"}
            assert needed <= taken, name
        if "--restart" in taken:
            assert {"--output", "--limit"} <= taken, name


def test_the_page_names_what_exists() -> None:
    rows = re.findall(r"^\| (.*?) \| (.*?) \|", PAGE.read_text("utf-8"), re.M)[1:]
    assert any("`scope`" in arguments for arguments, _ in rows)
    known = {name for one in functions().values() for name in inspect.signature(one).parameters}
    taken = {opt for _, option in options() for opt in option.opts}
    for arguments, named in rows:
        assert set(re.findall(r"`(\w+)`", arguments)) <= known
        assert set(re.findall(r"--[\w-]+", named)) <= taken


def type_named(word: str, function: FunctionType) -> Any:
    """The type that an annotation names, also if only a type checker imports it."""
    if word in function.__globals__:
        return function.__globals__[word]
    spelled = Path(function.__code__.co_filename).read_text("utf-8")
    home = re.search(rf"from (headscope\S+) import [^\n]*\b{word}\b", spelled)
    return getattr(importlib.import_module(home[1]), word) if home else None


def choices() -> list[tuple[str, FunctionType, str]]:
    """Every argument of a public function or method that is one of a few words."""
    classes = [hs.Scope, hs.Reading, *(getattr(hs.results, name) for name in hs.results.__all__)]
    methods = {f"{one.__name__}.{name}": getattr(method, "__func__", method)
               for one in classes if inspect.isclass(one)
               for name, method in vars(one).items() if not name.startswith("_")}  # fmt: skip
    return [
        (name, function, parameter.name)
        for name, function in {**functions(), **methods}.items()
        if isinstance(function, FunctionType) and not name.endswith(("_view", "_map", "_scatter"))
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "kind"  # a reading or a result knows its own
        for one in str(parameter.annotation).split(" | ")
        if one.startswith("Literal[")
        or (one.isidentifier() and get_origin(type_named(one, inspect.unwrap(function))) is Literal)
    ]


CHOICES = choices()


@pytest.mark.parametrize(
    ("name", "function", "argument"), CHOICES, ids=lambda one: getattr(one, "__name__", one)
)
def test_a_choice_is_checked_before_anything_runs(
    name: str, function: FunctionType, argument: str
) -> None:
    rules = checked.rules_of(function)
    assert argument in rules, f"{name}: import the type of {argument}= at run time"
    assert not any(rule.fits("no such choice") for rule in rules[argument])


def test_a_misspelt_choice_is_refused_and_not_taken_for_another(tiny_bert: hs.Scope) -> None:
    quiet = {"limit": 2, "progress": False}
    for call in (
        lambda: hs.probe.coreference(tiny_bert, "sample", windows="frist", **quiet),
        lambda: hs.probe.dependency(tiny_bert, "sample", possessive="marks", **quiet),
        lambda: hs.probe.all_heads(tiny_bert, *["sample"] * 3, vectors="word2vec", **quiet),
        lambda: hs.attribute(hs.load(), "The [MASK].", lens=False).strongest(part="heads"),
    ):
        with pytest.raises(hs.BadInput, match="= is '"):
            call()


def test_ordinary_mistakes_are_told_in_a_sentence(tiny_bert: hs.Scope) -> None:
    for wrong in ("5", 2.5, True, 0, -1):
        with pytest.raises(hs.BadInput, match="limit="):
            hs.survey(tiny_bert, ["the cat sat"], limit=wrong, progress=False)
    found = hs.survey(tiny_bert, ["the cat sat"], ["entropy"], progress=False)
    for call in (lambda: found.top(5), lambda: found.map(3), lambda: found.top(n="5")):
        with pytest.raises(hs.BadInput):
            call()
    reading: Any = tiny_bert.read("the cat sat")
    for call in (
        lambda: hs.text_view(reading, kind=["encoder"]),  # pyright: ignore
        lambda: reading.part({}),
        lambda: hs.explain(reading, 0, 0, kind={}),  # pyright: ignore
    ):
        with pytest.raises(hs.BadInput, match="kind= is a string"):
            call()
