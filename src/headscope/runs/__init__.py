"""Runs: long work that keeps what it has, shows progress, can be stopped and goes on."""
