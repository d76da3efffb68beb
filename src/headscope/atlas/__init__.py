"""The atlas: every head over a corpus, from any number to the texts behind it."""
