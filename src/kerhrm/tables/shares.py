"""How many rows of a table test.

This imports nothing, so that a plan reads the share without PyTorch.
"""

TEST_SHARE = 0.3  #: of the rows, drawn at random
