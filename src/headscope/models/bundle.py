"""The bundled model, opened without the general machinery: its class and files are known.

`from_pretrained` finds out what a folder holds and converts weights one by one; this takes the
weights as they lie in the file. A test holds the result to what `from_pretrained` gives.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

BUNDLED = Path(__file__).parent / "bundled"
NAME = "headscope-bundled"
NAMED = {"digits": Path(__file__).parent / "digits"}  # small models that come along under a name
ABOUT_NAMED = {
    "digits": "a ViT of 292 KB that names handwritten digits on a noisy ground: for pictures",
}
ABOUT = (
    "a small uncased English BERT, trained from scratch on 59 M words of freely licensed prose "
    "(Wikipedia, fiction, textbooks, government texts)"
)


def shipped(name: str | Path) -> Path | None:
    """The folder of a model that comes along, unless a folder of that name lies here."""
    return None if Path(name).expanduser().exists() else NAMED.get(str(name))


def open_bundled(dtype: torch.dtype) -> tuple[nn.Module, Any]:
    """The model, in evaluation mode on the CPU, and its tokenizer."""
    from safetensors.torch import load_file
    from transformers import BertConfig, BertForPreTraining, BertTokenizer

    config = BertConfig.from_pretrained(BUNDLED)
    config.dtype = dtype
    config._name_or_path = str(BUNDLED)  # pyright: ignore[reportPrivateUsage]
    with torch.device("meta"):  # the weights come from the file, so none are drawn at random
        model = BertForPreTraining(config)
    weights = load_file(BUNDLED / "model.safetensors")
    model.load_state_dict(
        {name: weight.to(dtype) for name, weight in weights.items()}, strict=False, assign=True
    )
    model.tie_weights()  # the output words are the input words: the file holds them once
    model.name_or_path = str(BUNDLED)
    embeddings: Any = model.bert.embeddings
    places = torch.arange(config.max_position_embeddings)[None]  # in no file: made as BERT does
    embeddings.position_ids, embeddings.token_type_ids = places, torch.zeros_like(places)
    return model.eval(), BertTokenizer.from_pretrained(BUNDLED)
