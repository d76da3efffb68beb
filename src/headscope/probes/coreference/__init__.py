"""coreference"""
