"""The patterns: every `Pattern` at the top level of a module here is found automatically."""
