"""FrameNet's own folder (`lu/*.xml`, `frame/*.xml`), filtered as in Kovaleva et al. 2019.

It keeps short exemplars in which a core element is not next to its target, so that a head which
links them cannot merely be attending to the neighbouring word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as Xml

from headscope.corpus.bad_data import Faults, whole_number
from headscope.corpus.relations.examples import Relation, Span

SENTENCE_WORDS = 12
ELEMENT_WORDS = 3
DISTANCE = 2  # words from the target; nearer elements are ignored
WORDS = re.compile(r"\w+(?:[-.,]\w+)*|n't|'\w+|[^\w\s]")


def is_framenet(path: str | Path) -> bool:
    """Whether a folder is laid out as FrameNet releases are."""
    return (Path(path) / "lu").is_dir() and (Path(path) / "frame").is_dir()


def read_framenet(path: str | Path, faults: Faults) -> Iterator[Relation]:
    """Yield the exemplars that pass the filters, lexical unit by lexical unit."""
    core: dict[str, set[str]] = {}
    for file in sorted((Path(path) / "frame").glob("*.xml")):
        frame = _parse(file, faults)
        if frame is not None:
            core[frame.get("name", "")] = {
                member.get("name", "") for member in frame.iterfind("{*}FEcoreSet/{*}memberFE")
            }
    for file in sorted((Path(path) / "lu").glob("lu*.xml")):
        unit = _parse(file, faults)
        if unit is None:
            continue
        frame = unit.get("frame", "")
        for sentence in unit.iterfind("{*}subCorpus/{*}sentence"):
            where = f"{file.name}: sentence {sentence.get('ID', '?')}"
            relation = _exemplar(sentence, frame, core.get(frame, set()), where, faults)
            if relation is not None:
                yield relation


def _parse(file: Path, faults: Faults) -> Xml.Element | None:
    try:
        return Xml.parse(file).getroot()
    except OSError as error:
        faults.note("unreadable file", file.name, str(error.strerror))
        return None
    except Xml.ParseError as error:
        line = error.position[0]
        faults.note("malformed line", f"{file.name}:{line}", f"this is not XML ({error.msg})")
        return None


def _exemplar(
    sentence: Xml.Element, frame: str, core: set[str], where: str, faults: Faults
) -> Relation | None:
    text = sentence.findtext("{*}text") or ""
    targets = _labels(sentence, "Target")
    elements = _labels(sentence, "FE")
    for (start, end), _ in targets + elements:
        if not 0 <= start < end <= len(text):
            message = f"[{start}, {end}] lies outside a text of {len(text)} characters"
            faults.note("span outside", where, message)
            return None
    found = [(span, name) for span, name in elements if name in core]
    if len(targets) != 1 or not found or not _apart(text, targets[0][0], elements):
        return None
    return Relation(
        text=text,
        target=targets[0][0],
        elements=tuple(span for span, _ in found),
        labels=tuple(name for _, name in found),
        name=frame,
        where=where,
    )


def _labels(sentence: Xml.Element, layer: str) -> list[tuple[Span, str]]:
    return [
        ((_place(label, "start"), _place(label, "end") + 1), label.get("name", ""))
        for found in sentence.iterfind("{*}annotationSet/{*}layer")
        if found.get("name") == layer and found.get("rank", "1") == "1"
        for label in found.iterfind("{*}label")
        if label.get("start") is not None  # an omitted element has no offsets
    ]


def _place(label: Xml.Element, name: str) -> int:
    """Where a label begins or ends; −1 if it is not a number."""
    number = whole_number(label.get(name, ""))
    return -1 if number is None else number


def _apart(text: str, target: Span, elements: list[tuple[Span, str]]) -> bool:
    words = [match.group() for match in WORDS.finditer(text)]
    spans = [match.span() for match in WORDS.finditer(text)]
    held = [n for n, (start, end) in enumerate(spans) if start < target[1] and end > target[0]]
    if len(words) > SENTENCE_WORDS or len(held) != 1:
        return False
    near = set(words[max(0, held[0] - DISTANCE) : held[0] + DISTANCE + 1])
    for (start, end), _ in elements:
        inside = WORDS.findall(text[start:end])
        if len(inside) > ELEMENT_WORDS or near & set(inside):
            return False
    return True
