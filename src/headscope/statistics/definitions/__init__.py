"""The statistics: every named `Statistic` that a module here defines is found by itself."""
