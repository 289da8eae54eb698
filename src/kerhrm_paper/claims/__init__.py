"""Claims of the paper (``config/claims.yaml``), tested on a run's scores and on small
runs."""

from kerhrm.extras import needs

needs("workflow", "yaml")
