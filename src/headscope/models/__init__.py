"""Load a model, tokenise text for it, and say what it can read."""

from headscope.models.tokenise import Batch, tokenise
from headscope.models.tokens import TokenClass, Tokens

__all__ = ["Batch", "TokenClass", "Tokens", "tokenise"]
