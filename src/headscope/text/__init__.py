"""Text for a model: tokens, words, spelling and tokenising, with any tokenizer."""

from headscope.text.spelling import TokenClass
from headscope.text.tokenise import Batch, tokenise
from headscope.text.tokens import Tokens

__all__ = ["Batch", "TokenClass", "Tokens", "tokenise"]
