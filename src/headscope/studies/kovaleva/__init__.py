"""The experiments of "Revealing the Dark Secrets of BERT" (Kovaleva et al. 2019), one file each."""
