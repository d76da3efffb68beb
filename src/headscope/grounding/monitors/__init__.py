"""Monitors: heads whose attention tells a supported answer, or an injected prompt."""
