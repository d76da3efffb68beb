"""How the bundled model was made: tokenizer, pairs, training, surveys, evaluation, export.

Needs torch, transformers, tokenizers, safetensors and numpy only. See README.md beside this file.
"""
