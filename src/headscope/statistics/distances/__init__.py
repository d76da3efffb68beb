"""distances"""
