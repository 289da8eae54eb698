"""Claims of the paper, a function each, tested on a run's scores and on small runs.

The modules of claims follow the paper: ``introduction`` (abstract, Sections 1 and 2),
``method`` (3), ``theory`` (4, A.3, A.4), ``classification``, ``regression`` and
``images`` (5.1), ``houses`` (5.2).  ``declare`` says what a claim is, ``evidence`` what
it is tested on, ``comparison`` how, and ``check`` evaluates all.
"""

from kerhrm.extras import needs

needs("workflow", "yaml")
