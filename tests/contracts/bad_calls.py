"""Bad calls, generated: every command and public function with one argument that cannot be used."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import headscope as hs
from tests.cli_page import commands
from tests.tiny import tiny_scope

# a sound call of every command; one word of it is then made bad
SOUND: dict[str, list[str]] = {
    "ablate": ["{text}", "--task-kind", "masked", "-o", "o.csv"],
    "atlas": ["{text}", "-o", "o.atlas"],
    "attribute": ["the cat sat on the [MASK]", "-o", "o.csv"],
    "circuits": ["copying", "-o", "o.csv"],
    "patch": ["{pairs}", "-m", "{writer}", "-o", "o.csv"],
    "app": ["--no-browser", "--port", "99999"],
    "budget": ["{text}", "-m", "{writer}", "-o", "o.csv", "--sink", "1", "--window", "2"],
    "checkpoints": [*["{model}"] * 2, "--corpus", "{text}", "-o", "o.csv", "--measure", "cls"],
    "compare": ["{model}", "{model}", "{text}", "-o", "o.csv"],
    "edges": ["{pairs}", "-m", "{writer}", "-o", "o.json", "--steps", "1", "--draws", "1"],
    "emphasise": ["the cat sat on the", "--span", "cat", "-m", "{writer}"],
    "find": ["{text}", "the", "cat"],
    "finetune": ["{task}", "-o", "folder"],
    "ground": ["-d", "{text}", "-q", "who", "--answer", "cat", "-m", "{writer}", "-o", "o.csv"],
    "models": [],
    "monitor build": [*(f"{{note{n}}}" for n in range(6)), "-o", "o.jsonl"],
    "monitor fit": ["{labelled}", "-m", "{writer}", "-o", "m.json", "--shuffles", "2"],
    "monitor score": ["{labelled}", "--monitor", "{monitor}", "-m", "{writer}", "-o", "o.csv"],
    "patterns": ["{text}", "--segments", "documents", "-o", "o.csv"],
    "probe alignment": ["{gold}", "-o", "o.csv", "--most-heads", "1"],
    "probe atoms": ["{reactions}", "-o", "o.csv", "--most-heads", "1"],
    "probe contacts": ["{proteins}", "-o", "o.csv", "--most-heads", "1"],
    "probe coreference": ["sample", "-o", "o.csv"],
    "probe dependency": ["sample", "-o", "o.csv"],
    "probe features": ["sample", "-o", "o.csv"],
    "probe links": ["{links}", "-o", "o.csv", "--most-heads", "1"],
    "probe relations": ["sample", "-o", "o.csv"],
    "probe speech": ["{empty}", "-o", "o.csv"],
    "score": ["the cat sat", "--layer", "1", "--head", "0", "-m", "{writer}", "-o", "o.csv"],
    "study": ["vig", "-o", "o.html"],
    "survey": ["{text}", "-o", "o.csv"],
    "trace": ["the cat sat on the [MASK]"],
    "view": ["the cat sat", "-o", "o.html"],
}
COUNTS = ["0", "-1", "many", "1.5"]
BAD_OPTIONS: dict[str, list[str]] = {
    "--limit": COUNTS,
    "--max-tokens": ["2", "-1", "many"],
    "--seed": ["-1", str(2**40), "many"],
    "--bad-data": ["nope", ""],
    "--layout": ["nope", ""],
    "--segments": ["nope"],
    "--device": ["nope", "cuda:99"],
    "--dtype": ["floaty"],
    "--output": ["o.xlsx", "missing/o.csv", ".", "", "x" * 300 + ".csv", "/dev/null"],
    "--map": ["m.gif", "missing/m.svg", "."],
    "--model": ["nowhere", "{empty}", "{no_weights}", "{half}", "{odd_config}", "x" * 300],
    "--statistics": ["nope", ""],
    "--interval": ["2", "nan", "-1"],
    "--engine": ["nope"],
    "--token-types": ["nope"],
    "--workers": ["-1"],
    "--batch-tokens": ["-1"],
    "--mode": ["nope"],
    "--metric": ["nope"],
    "--kind": ["nope"],
    "--task-kind": ["nope"],
    "--orientation": ["nope"],
    "--sample": COUNTS,
    "--what": ["nope", ""],
    "--split": ["nope"],
    "--text": ["nope"],
    "--text-pair": ["nope"],
    "--label": ["nope"],
    "--batch-size": COUNTS,
    "--epochs": COUNTS,
    "--learning-rate": ["-1", "nan", "inf", "fast"],
    "--warmup": ["7", "nan"],
    "--dropout": ["2", "nan"],
    "--windows": ["nope"],
    "--vectors": ["nope"],
    "--glove": ["nowhere.txt"],
    "--subtypes": ["nope"],
    "--possessive": ["nope"],
    "--minimum": COUNTS,
    "--shuffles": COUNTS,
    "--test": ["nowhere.conllu", "{binary}"],
    "--train": ["nowhere.conllu", "{binary}"],
    "--other": ["nowhere"],
    "--data": ["nowhere"],
    "--drawings": ["{text}", "missing/folder"],
    "--view": ["nope"],
    "--layer": ["99", "-1", "x"],
    "--head": ["99", "-1", "x"],
    "--query": ["999", "-1"],
    "--layers": ["99", "x", "3-1", ""],
    "--queries": ["5", "9:1", "0:999"],
    "--budget": ["small", "-1"],
    "--memory": ["small", "1B"],
    "--theme": ["blue"],
    "--specials": ["nope"],
    "--filter": ["nope"],
    "--generate": ["-1", "x"],
    "--set": ["nope", "nope=1"],
    "--image": ["nowhere.png", "{binary}", "{text}", "{empty}"],
    "--audio": ["nowhere.wav", "{binary}", "{text}"],
    "--target": ["", "two words that are no token"],
    "--position": ["99", "x"],  # counted from the end where it is negative
    "--method": ["nope", ""],
    "--top": COUNTS,
    "--per-decile": ["-1", "many"],
    "--port": ["99999", "-1", "x"],
    "--host": ["300.1.1.1", "no such host"],
}
# where a value that is bad elsewhere is a sound one, or does nothing
FINE = {
    ("finetune", "--metric"), ("finetune", "--output"), ("view", "--minimum"), ("score", "--query"),
    ("app", "--model"), ("app", "--device"), ("ablate", "--split"), ("ablate", "--text"),
    ("ablate", "--text-pair"), ("ablate", "--label"), ("probe dependency", "--glove"),
}  # fmt: skip
DATA = ["{empty_file}", "nowhere.txt", "{empty}", "{utf16}", "{latin}", "{gz}", "{xz}", "{bz2}",
        "{tar}", "{parquet}", "{binary}", "{docx}", "", "x" * 5000, "{deep}",
        "/dev/zero"]  # fmt: skip


def files(folder: Path, model: Any) -> dict[str, str]:
    """The files that calls name in braces; what is sound among them is so."""
    text = "the cat sat on the mat . he ran to the house .\n" * 3
    contents: dict[str, bytes] = {
        "text": text.encode(),
        "task": b"text\tlabel\nthe cat\ta\na dog\tb\nthe dog\ta\na cat\tb\n",
        "pairs": b'{"clean": "the cat sat", "corrupted": "the dog sat", "answer": "mat"}',
        "empty_file": b"",
        "gold": b"the cat sat ||| a dog ran ||| 0-0 1-1 2-2\n" * 8,
        "reactions": b"[CH3:1][OH:2].[CH4:5]>>[CH3:1][O:2]C\n" * 8,
        "proteins": b'{"sequence": "acdefghiklmnop", "contacts": [[0, 9], [2, 11]]}\n' * 8,
        "links": b'{"text": "the cat sat", "pairs": [[[4, 7], [8, 11]]]}\n' * 8,
        **{f"note{n}": f"Town {n} has a river. It has {n} bridges.".encode() for n in range(6)},
        "utf16": text.encode("utf-16"),
        "latin": "café\nnaïve\n".encode("latin-1"),
        "gz": gzip.compress(text.encode())[:-9],
        "xz": b"nonsense",
        "bz2": b"nonsense",
        "tar": b"nonsense",
        "parquet": b"PAR1nonsense",
        "binary": bytes(range(256)) * 4,
        "docx": b"PK\x03\x04" + bytes(99),
        "deep": b"[" * 50_000,
    }
    endings = {"task": ".tsv", "pairs": ".jsonl", "proteins": ".jsonl", "links": ".jsonl",
               "gz": ".txt.gz",
               "xz": ".txt.xz", "bz2": ".txt.bz2", "tar": ".tar", "parquet": ".parquet",
               "docx": ".docx", "deep": ".jsonl"}  # fmt: skip
    made: dict[str, str] = {}
    for name, content in contents.items():
        path = folder / f"{name}{endings.get(name, '.txt')}"
        path.write_bytes(content)
        made[name] = str(path)
    for name in ("empty", "no_weights", "half", "odd_config", "model"):
        made[name] = str(folder / name)
    (folder / "empty").mkdir()
    for name in ("model", "no_weights", "half"):
        model.model.save_pretrained(folder / name)
        model.tokenizer.save_pretrained(folder / name)
    decoder = tiny_scope("GPT2LMHeadModel")
    decoder.model.save_pretrained(folder / "writer")
    decoder.tokenizer.save_pretrained(folder / "writer")
    made |= {name: str(folder / name) for name in ("writer", "labelled.jsonl", "monitor.json")}
    made["labelled"], made["monitor"] = made.pop("labelled.jsonl"), made.pop("monitor.json")
    labelled = hs.monitor.injected([contents[f"note{n}"].decode() for n in range(6)])
    hs.monitor.save_labelled(labelled, made["labelled"])
    hs.monitor.fit(decoder, labelled, shuffles=1, progress=False).save(made["monitor"])
    (folder / "no_weights" / "model.safetensors").unlink()
    weights = folder / "half" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    (folder / "odd_config").mkdir()
    (folder / "odd_config" / "config.json").write_text(json.dumps({"model_type": 3}))
    return made


def command_lines() -> Iterator[list[str]]:
    """Every command with one bad word; files stand in braces."""
    for name, command in commands():
        if name == "doctor":  # takes nothing that could be wrong
            continue
        words, sound_words = name.split(), SOUND.get(name, [])
        yield [*words, *sound_words, "--no-such-option"]
        if sound_words and sound_words[0] in ("{text}", "{task}", "{pairs}", "sample"):
            for bad in DATA:
                yield [*words, bad, *sound_words[1:]]
        for parameter in command.params:
            option = next((one for one in parameter.opts if one.startswith("--")), None)
            if option is None or (name, option) in FINE:
                continue
            for bad in BAD_OPTIONS.get(option, ()):
                if name == "live" and bad in (".", ""):  # a folder is what it writes
                    continue
                sound = [*sound_words]
                if option == "--output" and "-o" in sound:
                    del sound[sound.index("-o") : sound.index("-o") + 2]
                yield [*words, *sound, f"{option}={bad}"]
