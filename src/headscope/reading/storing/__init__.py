"""A reading as a file: tensors and metadata, pictures and sounds, whether its parts fit."""
