"""The patterns: every `Pattern` that a module here defines at its top level is found by itself."""
