"""Pictures of fitted estimators, each on one matplotlib ``Axes``.

    >>> import kerhrm.plots
    >>> X, y = [[0.0, 1.0], [1.0, 2.0], [2.0, 0.0]] * 5, [0.0, 1.0, 2.0] * 5
    >>> kerhrm.plots.environments(["north", "south", "south"] * 5, X, y).get_ylabel()
    'feature 1'

Every function takes ``ax``, draws there, or in a figure of its own without it, and
returns the ``Axes``; it changes nothing else.  Needs matplotlib: ``pip install
'kerhrm[plots]'``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "descriptions": ["rootogram"],
        "rows": ["environments", "importance", "relation"],
        "fits": ["agreement", "group_errors", "iterations", "spectrum"],
    },
)
