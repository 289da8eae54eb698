"""How many rows of a table test, and how many train.

This imports nothing, so that a plan reads the share without PyTorch.
"""

TEST_SHARE = 0.3  #: of the rows, drawn at random
MOST_TRAINING = 800  #: rows that the page of one's own table learns from
