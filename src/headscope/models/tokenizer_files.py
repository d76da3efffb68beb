"""The tokenizer saved with a model; a folder without one raises an error.

transformers silently makes an empty tokenizer for such a folder, which turns every word into an
unknown token or nothing.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from headscope.errors import BadInput, first_line

ADAPTER = "adapter_config.json"  # the file of a PEFT adapter
_ANY = ("tokenizer.json", "tokenizer.model", "vocab.txt", "vocab.json", "spiece.model")
_MOSTLY_EMPTY = 8  # most tokens of a tokenizer without a vocabulary: special tokens and a space


def open_tokenizer(source: str, trust_remote_code: bool = False) -> Any:
    """The text tokenizer; None if there is none, as for models that read pictures or sound."""
    from transformers import AutoTokenizer

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=trust_remote_code)
    except Exception as error:  # a tokenizer's files may hold anything
        if "trust_remote_code" in str(error):
            raise BadInput(
                f"The tokenizer of {source} contains its own Python code, which headscope "
                "does not run by default; if you trust its authors, pass "
                "trust_remote_code=True (--trust-remote-code)."
            ) from error
        if Path(source).is_dir() and _files_there(source, _ANY):
            raise BadInput(
                f"The tokenizer in {source} cannot be read ({first_line(error)}); save it again, "
                "or give another: hs.load(folder, tokenizer)."
            ) from error
        return None
    if _is_empty(source, tokenizer):
        return None
    return with_first_token(tokenizer) if _begins_with_token(source, tokenizer) else tokenizer


def need_tokenizer(source: str, tokenizer: Any) -> None:
    """Raise an error if a model that reads text lacks its tokenizer."""
    if tokenizer is not None:
        return
    wanted = _wanted_files(source)
    raise BadInput(
        f"{source} has no tokenizer: add {wanted} of the model it was trained from, or "
        "give its folder, as in hs.load(folder, 'tokenizer-folder')."
    )


def with_first_token(tokenizer: Any) -> Any:
    """The same tokenizer, with its beginning-of-text token before every text."""
    first = getattr(tokenizer, "bos_token_id", None)
    if first is None or not getattr(tokenizer, "is_fast", False):
        return tokenizer
    if not set(tokenizer("a")["input_ids"]) & set(tokenizer.all_special_ids):
        tokenizer.add_bos_token = True
        tokenizer.update_post_processor()
    return tokenizer


def _begins_with_token(source: str, tokenizer: Any) -> bool:
    """Whether it was saved to add a first token to every text, which transformers may ignore."""
    from transformers.models.auto.tokenization_auto import get_tokenizer_config

    if getattr(tokenizer, "bos_token_id", None) is None:
        return False
    return get_tokenizer_config(source).get("add_bos_token") is True


def _is_empty(source: str, tokenizer: Any) -> bool:
    """Whether the tokenizer was made without a vocabulary."""
    files = tuple(getattr(tokenizer, "vocab_files_names", {}).values())
    if not files:  # CANINE and ByT5 read characters and bytes, and need no file
        return False
    if Path(source).is_dir() and _files_there(source, (*files, *_ANY)):
        return False
    special = set(getattr(tokenizer, "all_special_ids", ()))
    words = [one for one in tokenizer.get_vocab().values() if one not in special]
    return len(words) <= _MOSTLY_EMPTY


def _files_there(source: str, names: tuple[str, ...]) -> bool:
    folder = Path(source)
    found = any((folder / name).is_file() for name in names)
    # sentencepiece and tiktoken files go by many names
    return found or any(folder.glob("*.spm")) or any(folder.glob("*.tiktoken"))


def _wanted_files(source: str) -> str:
    """The files a tokenizer of this family is saved as."""
    from transformers import AutoConfig
    from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING

    try:
        configuration = AutoConfig.from_pretrained(source, trust_remote_code=False)
        known: Any = TOKENIZER_MAPPING[type(configuration)]
        classes = known if isinstance(known, tuple) else (known,)
        classes = [one for one in classes if one is not None]
        names = {name for one in classes for name in one.vocab_files_names.values()}
    except Exception:  # the file's name only helps
        names = set()
    others = sorted(names - {"tokenizer.json"})
    if not others:
        return "tokenizer.json"
    return f"tokenizer.json (or {' and '.join(others)})"
