"""Each extra, installed alone into an empty environment, brings all that its feature needs.

`make test-extras` runs this; it installs torch and the wheel once per extra, which takes minutes.
"""

from __future__ import annotations

import os
import subprocess
import tomllib
import venv
from pathlib import Path

import pytest

from tests.test_wheel import build

ROOT = Path(__file__).parents[1]
TORCH = next(
    line
    for line in (ROOT / "requirements" / "constraints.txt").read_text().splitlines()
    if line.startswith("torch==")
)
# what each extra is for, tried in the empty environment; files lie in the current folder
TRIALS = {
    "gguf": "assert hs.load('tiny.gguf').read('a cat').attention.shape",
    "sound": (
        "import numpy as np, soundfile; soundfile.write('a.flac', np.zeros(16000), 16000)\n"
        "from headscope.media.sound import open_sound; assert open_sound('a.flac')"
    ),
    "ray": "assert len(hs.survey(hs.load(), ['A cat sat.'] * 8, engine='ray', workers=1).table)",
    "datasets": (
        "import datasets; data = datasets.Dataset.from_dict({'text': ['A cat sat.'] * 3})\n"
        "assert hs.survey(hs.load(), data).metadata['segments'] == 3"
    ),
    "spacy": "import spacy; spacy.blank('en')",  # its models are packages of their own
    "finetune": (
        "import headscope.tasks.files as files; from headscope.corpus.sample import OPINIONS\n"
        "hs.finetune(None, files.read_task(OPINIONS), 'tuned', limit=8)\n"
        "assert hs.load('tuned').read('A cat.').attention.shape"
    ),
    "index": (
        "import faiss, numpy as np; from headscope.atlas.example_index import _cells_of\n"
        "assert _cells_of(faiss, np.random.default_rng(0).random((5000, 8), np.float32))"
    ),
    "bits": "import bitsandbytes, accelerate",
    "live": "assert hs.live_page(hs.load(), 'live.html').stat().st_size > 100_000",
}


def test_every_extra_has_a_trial() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert TRIALS.keys() == project["optional-dependencies"].keys()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("--wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif("HEADSCOPE_EXTRAS" not in os.environ, reason="run: make test-extras")
@pytest.mark.parametrize("extra", TRIALS)
def test_an_extra_alone_is_enough_for_its_feature(extra: str, wheel: Path, tmp_path: Path) -> None:
    if extra == "gguf":
        from tests.models.tiny_gguf import write_llama

        write_llama(tmp_path / "tiny.gguf", sentencepiece=True, add_bos=True)
    venv.create(tmp_path / "fresh", with_pip=True, symlinks=True)
    python = tmp_path / "fresh" / "bin" / "python"
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for what in (TORCH, f"headscope[{extra}] @ {wheel.as_uri()}"):
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", what],
            check=True, env=clean,
        )  # fmt: skip
    subprocess.run(
        [python, "-c", f"import headscope as hs\n{TRIALS[extra]}"],
        check=True, cwd=tmp_path, env=clean,
    )  # fmt: skip
