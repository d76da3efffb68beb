"""RXNMapper's own weights, with its tokenizer of SMILES: one token an atom, a bond or a bracket."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.errors import BadInput

if TYPE_CHECKING:
    from headscope.reading import Scope

# Schwaller et al. 2018: how the model's training data was cut
TOKENS = (
    r"(\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\(|\)|\.|=|#|-|\+|\\|\/|:|~|@|\?|>>?|\*|\$"
    r"|\%[0-9]{2}|[0-9])"
)
WEIGHTS = "rxnmapper/models/transformers/albert_heads_8_uspto_all_1310k"


def open_model(model: str | None, device: str | None = None, *rest: Any) -> Scope:
    """Open a folder with the weights and vocab.txt, or an unpacked wheel of rxnmapper."""
    del rest  # the model is small and needs no options
    if model is None:
        raise BadInput(
            "The study reads RXNMapper's weights; unpack the wheel rxnmapper==0.4.3 and give its "
            "folder with --model."
        )
    folder = Path(model)
    folder = folder / WEIGHTS if (folder / WEIGHTS).is_dir() else folder
    if not (folder / "vocab.txt").is_file():
        raise BadInput(f"{folder} holds no vocab.txt of RXNMapper; give the unpacked wheel.")
    from transformers import AlbertModel

    from headscope.reading import load

    network: Any = AlbertModel.from_pretrained(str(folder), attn_implementation="eager").eval()
    return load(network.to(device or "cpu"), smiles_tokenizer(folder), name="rxnmapper")


def smiles_tokenizer(folder: Path) -> Any:
    """The same tokens as the package's, with their spans."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    pieces = (folder / "vocab.txt").read_text("utf-8").splitlines()
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(TOKENS), "isolated")
    ends = [(name, vocabulary[name]) for name in ("[SEP]", "[CLS]")]
    made.post_processor = processors.BertProcessing(ends[0], ends[1])
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", unk_token="[UNK]", model_max_length=512,
    )  # fmt: skip
