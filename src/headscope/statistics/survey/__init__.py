"""The survey: one streaming pass over a corpus, and the table it gives."""
