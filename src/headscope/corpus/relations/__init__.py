"""relations"""
