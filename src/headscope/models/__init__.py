"""Open a model by name, folder or file; the bundled model."""
