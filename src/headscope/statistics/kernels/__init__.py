"""Kernels: a call's attention output and row features, without ever holding all its maps."""
