"""Monitors: heads whose attention reveals a supported answer, or an injected prompt."""
