"""A reading's attention weights: kept, or computed from q and k."""
