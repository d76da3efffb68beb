"""all_heads"""
