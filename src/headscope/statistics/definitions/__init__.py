"""definitions"""
