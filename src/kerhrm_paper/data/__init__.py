"""The data sets of the paper.

Generators, raw files, and the files that the workflow keeps.
"""

from kerhrm.extras import needs

needs("workflow", "requests")
