"""Word times as aligners write them: TextGrid (Praat, MFA), CTM (Kaldi) and Whisper's JSON."""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

from headscope.corpus.bad_data import Faults
from headscope.corpus.links.linked import Linked, Pair, word_spans
from headscope.corpus.open_text import open_lines
from headscope.errors import BadInput
from headscope.json_text import parse_json

SOUNDS = (".wav", ".flac", ".ogg", ".mp3")
TIMES = (".textgrid", ".ctm", ".json")
INTERVAL = re.compile(
    r'\s*xmin\s*=\s*(?P<start>\S+)\s+xmax\s*=\s*(?P<end>\S+)\s+text\s*=\s*"(?P<text>(?:""|[^"])*)"'
)
VALUE = re.compile(r'"(?P<text>(?:""|[^"])*)"|(?P<bare>[^\s"]+)')
Tier = tuple[str, list[tuple[str, ...]]]  # its name, and the start, end and text of each interval
SILENT = {"", "sil", "sp", "<eps>", "<sil>", "spn"}


class Timed(NamedTuple):
    """A word and when it is heard, in seconds."""

    word: str
    start: float
    end: float


def read_word_times(folder: str | Path, faults: Faults) -> Iterator[Linked]:
    """The sounds in a folder that have a file of word times with the same name."""
    folder = Path(folder)
    if not folder.is_dir():
        raise BadInput(f"There is no folder {str(folder)!r} with sounds and word times.")
    sounds = sorted(path for path in folder.iterdir() if path.suffix.lower() in SOUNDS)
    if not sounds:
        raise BadInput(f"{folder} holds no sound that ends in {', '.join(SOUNDS)}.")
    for sound in sounds:
        beside = {p.suffix.lower(): p for p in folder.iterdir() if p.stem == sound.stem}
        times = [beside[ending] for ending in TIMES if ending in beside]
        if not times:
            faults.note("unaligned", sound.name, f"no file of word times ({', '.join(TIMES)})")
            continue
        found = timed(sound, words_of(times[0], faults), faults)
        if found is not None:
            yield found


def timed(sound: Path, words: list[Timed], faults: Faults) -> Linked | None:
    """A sound whose transcript is made of its words; words with bad times are left out of pairs."""
    text, spans = word_spans(word.word for word in words)
    pairs: list[Pair] = []
    for word, span in zip(words, spans, strict=True):
        if not (math.isfinite(word.start) and math.isfinite(word.end)) or word.start < 0:
            faults.note("span outside", sound.name, f"{word.word!r} has no time that can be read")
        elif word.end <= word.start:
            message = f"{word.word!r} ends at {word.end} s, before it starts at {word.start} s"
            faults.note("end before start", sound.name, message)
        else:
            pairs.append(Pair(span, (word.start, word.end)))
    if not pairs:
        faults.note("no links", sound.name, "no word has a time")
        return None
    return Linked("", tuple(pairs), text, spans, sound=str(sound), where=sound.name)


def words_of(path: Path, faults: Faults) -> list[Timed]:
    """The words in a file of word times, silences left out."""
    ending = path.suffix.lower()
    if ending == ".ctm":
        return _ctm(path, faults)
    if path.read_bytes()[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        text = path.read_text("utf-16")  # as Praat saves what is not ASCII
    else:
        with open_lines(path) as lines:
            text = "".join(lines)
    return _whisper(text, path, faults) if ending == ".json" else _textgrid(text, path, faults)


def _textgrid(text: str, path: Path, faults: Faults) -> list[Timed]:
    """The tier called words, or the first."""
    tiers = _long_tiers(text) or _short_tiers(text)
    if not tiers:
        faults.note("malformed line", path.name, "this is not a TextGrid of Praat's text formats")
        return []
    named = [intervals for name, intervals in tiers if "word" in name.lower()]
    found: list[Timed] = []
    for number, interval in enumerate((named or [tiers[0][1]])[0], 1):
        try:
            start, end, word = interval
            word = Timed(word.replace('""', '"').strip(), float(start), float(end))
        except ValueError:
            message = "an interval is: xmin = 0.5, xmax = 0.75 and text, each on its line"
            faults.note("malformed line", f"{path.name}: interval {number}", message)
            continue
        if word.word.lower() not in SILENT:
            found.append(word)
    return found


def _long_tiers(text: str) -> list[Tier]:
    """Tiers of the long format, in which every value has a name."""
    tiers: list[Tier] = []
    for tier in re.split(r"item\s*\[\d+\]\s*:", text)[1:]:
        name = re.search(r'name\s*=\s*"([^"]*)', tier)
        parts = re.split(r"intervals\s*\[\d+\]\s*:?", tier)[1:]
        matches = map(INTERVAL.match, parts)
        tiers.append((name[1] if name else "", [one.groups() if one else () for one in matches]))
    return tiers


def _short_tiers(text: str) -> list[Tier]:
    """Tiers of the short format: name, start, end, count, and three values for each interval."""
    values = [one["bare"] or one["text"] or "" for one in VALUE.finditer(text)]
    tiers: list[Tier] = []
    for at in (at for at, value in enumerate(values[:-4]) if value == "IntervalTier"):
        count = int(values[at + 4]) if values[at + 4].isdigit() else 0
        rest = values[at + 5 : at + 5 + 3 * count]
        tiers.append((values[at + 1], list(zip(rest[::3], rest[1::3], rest[2::3], strict=False))))
    return tiers


def _ctm(path: Path, faults: Faults) -> list[Timed]:
    """`recording channel start duration word`, as NIST's tools write."""
    found: list[Timed] = []
    with open_lines(path) as lines:
        for number, line in enumerate(lines, 1):
            parts = line.split()
            if not parts or parts[0].startswith(";;"):
                continue
            try:
                start, duration, word = float(parts[2]), float(parts[3]), parts[4]
            except (ValueError, IndexError):
                message = "a line is: recording channel start duration word"
                faults.note("malformed line", f"{path.name}:{number}", message)
                continue
            if word.lower() not in SILENT:
                found.append(Timed(word, start, start + duration))
    return found


def _whisper(text: str, path: Path, faults: Faults) -> list[Timed]:
    """`segments` with `words`, as Whisper and similar tools write; or `words`, as its API does."""
    try:
        whole: Any = parse_json(text)
        words = whole.get("words")
        words = words or [word for part in whole["segments"] for word in part["words"]]
        # WhisperX gives numerals no time; they are words of the transcript all the same
        return [
            Timed(str(word.get("word", word.get("text"))).strip(), float(word.get("start", "nan")),
                  float(word.get("end", "nan")))
            for word in cast(list[dict[str, Any]], words)
        ]  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"this is not Whisper's JSON with word timestamps ({error!r})"
        faults.note("malformed line", path.name, message)
        return []
