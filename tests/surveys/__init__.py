"""Tests of surveys by several workers, and of those that are stopped or killed."""
