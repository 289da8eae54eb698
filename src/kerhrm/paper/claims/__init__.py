"""Claims of the paper (``config/claims.yaml``), tested on a run's scores and on small runs."""

from kerhrm.paper.claims.check import evaluate as evaluate
