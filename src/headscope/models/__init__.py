"""Load a model, tokenise text for it, and say what it can read."""

from headscope.text.tokenise import Batch, tokenise
from headscope.text.tokens import TokenClass, Tokens

__all__ = ["Batch", "TokenClass", "Tokens", "tokenise"]
