"""The statistics: one file each, found by looking in this folder."""
