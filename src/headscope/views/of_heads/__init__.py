"""Shared by views of many heads: their plane, names and example texts."""
