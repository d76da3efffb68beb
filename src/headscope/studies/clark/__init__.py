"""The experiments of Clark et al. 2019, one file each, in the paper's order."""
