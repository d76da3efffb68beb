"""The patterns, one file each: every pattern that a module here defines is one of headscope."""
