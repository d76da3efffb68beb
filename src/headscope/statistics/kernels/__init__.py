"""Kernels: a call's attention output and row features, without all its maps in memory."""
