"""Heads for a role: which heads align, map or link, found from labelled examples."""
