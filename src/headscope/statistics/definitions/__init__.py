"""The statistics: every named `Statistic` in a module here is found automatically."""
