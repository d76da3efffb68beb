"""Attention weights as a reading holds them: kept, or made again from q and k."""
