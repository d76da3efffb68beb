"""Heads by role: which heads align, map or link, from labelled examples."""
