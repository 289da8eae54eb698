"""The data sets of the paper.

Generators, raw files, and the files that the workflow keeps.
"""
