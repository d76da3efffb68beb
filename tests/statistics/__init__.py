"""Tests of statistics and surveys."""  # noqa: A005
