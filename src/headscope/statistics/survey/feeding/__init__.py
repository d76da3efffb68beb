"""Text prepared for a GPU by processes beside it, which import neither torch nor transformers."""
