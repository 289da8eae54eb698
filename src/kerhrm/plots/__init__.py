"""Pictures of fitted estimators, each on one matplotlib ``Axes``.

    kerhrm.plots.environments(model, X, y)
    kerhrm.plots.group_errors([model, erm], X_test, y_test, groups)

Every function takes ``ax``, draws there, or in a figure of its own without it, and returns the
``Axes``; it changes nothing else.  Needs matplotlib: ``pip install matplotlib``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "rows": ["environments", "importance", "relation"],
        "fits": ["agreement", "group_errors", "iterations", "spectrum"],
    },
)
