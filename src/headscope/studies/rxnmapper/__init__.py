"""RXNMapper (Schwaller et al. 2021): the head that maps atoms, found from mapped reactions."""
