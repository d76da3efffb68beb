"""dependency"""
