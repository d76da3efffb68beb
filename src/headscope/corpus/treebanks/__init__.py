"""treebanks"""
