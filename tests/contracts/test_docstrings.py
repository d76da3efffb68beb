"""Every public function says what it takes and returns, and shows it in an example that runs."""

from __future__ import annotations

import doctest
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import headscope as hs

SECTIONS = ("Parameters", "Returns", "Examples")
# what their examples need is not on every machine: decoders, pictures, sounds, a written atlas
ELSEWHERE = {"ground", "fit_head_weights", "grounding_view", "finetune", "word_times", "live_page",
             "atlas_view", "image_view", "sound_view", "probe.all_heads", "budget", "press_of",
             "over_checkpoints", "circuits.edges", "probe.alignment", "probe.atoms",
             "probe.contacts", "probe.speech", "emphasis.effect", "emphasis.choose",
             "monitor.fit", "studies.clark", "studies.kovaleva", "studies.rxnmapper",
             "studies.whisper"}  # fmt: skip


def public() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for home in (hs, hs.circuits, hs.emphasis, hs.monitor, hs.probe, hs.results, hs.studies):
        for name in home.__all__:
            value = getattr(home, name)
            if callable(value):
                found[f"{home.__name__}.{name}".removeprefix("headscope.")] = value
    return found


FUNCTIONS: dict[str, Any] = {}  # a function with two names is one
for name, one in public().items():
    if inspect.isfunction(one) and one not in FUNCTIONS.values():
        FUNCTIONS[name] = one
CLASSES = {one.__name__: one for one in public().values() if inspect.isclass(one)}


@cache
def opened(*given: Any, load: Any = hs.load) -> hs.Scope:
    return load(*given)


def sections(thing: Any) -> dict[str, str]:
    parts = re.split(r"^(\w+)\n-{3,}\n", inspect.getdoc(thing) or "", flags=re.M)
    return dict(zip(["Summary", *parts[1::2]], parts[::2], strict=True))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_what_it_takes_and_returns(name: str) -> None:
    said, taken = sections(FUNCTIONS[name]), list(inspect.signature(FUNCTIONS[name]).parameters)
    assert re.match(r"\S.*[.:]$", said["Summary"].split("\n\n")[0].strip(), re.S)
    for section in SECTIONS if taken else SECTIONS[1:]:
        assert said.get(section, "").strip(), f"{name} has no {section}"
    if taken:
        named = re.findall(r"^\S.*$", said["Parameters"], re.M)
        listed = [one.strip(" *") for line in named for one in line.partition(" : ")[0].split(",")]
        assert sorted(listed) == sorted(taken)
        assert len(re.findall(r"^\S.*\n {4}\S", said["Parameters"], re.M)) == len(named)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_its_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hs, "load", lambda *given: opened(*given))  # one model for all examples
    parsed = doctest.DocTestParser().get_doctest(sections(FUNCTIONS[name])["Examples"], {}, name,
                                                 None, None)  # fmt: skip
    run = [one for one in parsed.examples if doctest.SKIP not in one.options]
    assert f"{name.rpartition('.')[2]}(" in "".join(one.source for one in parsed.examples)
    called = f"{name.rpartition('.')[2]}(" in "".join(one.source for one in run)
    assert called != (name in ELSEWHERE)
    said: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(parsed, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_says_what_it_is(name: str) -> None:
    summary = (CLASSES[name].__doc__ or "").strip().split("\n\n")[0]
    assert re.match(r"\S.*[.:]$", summary, re.S) and not summary.startswith(f"{name}(")
