"""Pictures of fitted estimators, each on one matplotlib ``Axes``.

    kerhrm.plots.environments(model, X, y)
    kerhrm.plots.group_errors([model, erm], X_test, y_test, groups)

Every function takes ``ax``, draws there, or in a figure of its own without it, and returns the
``Axes``; it changes nothing else.  Needs matplotlib: ``pip install matplotlib``.

:mod:`kerhrm.plots.draw` draws the same from plain arrays.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kerhrm.plots.comparisons import agreement as agreement
    from kerhrm.plots.comparisons import group_errors as group_errors
    from kerhrm.plots.course import iterations as iterations
    from kerhrm.plots.course import spectrum as spectrum
    from kerhrm.plots.memberships import environments as environments
    from kerhrm.plots.memberships import importance as importance
    from kerhrm.plots.memberships import relation as relation

_ENTRIES = {
    "agreement": "kerhrm.plots.comparisons",
    "environments": "kerhrm.plots.memberships",
    "group_errors": "kerhrm.plots.comparisons",
    "importance": "kerhrm.plots.memberships",
    "iterations": "kerhrm.plots.course",
    "relation": "kerhrm.plots.memberships",
    "spectrum": "kerhrm.plots.course",
}
__all__ = [
    "agreement",
    "environments",
    "group_errors",
    "importance",
    "iterations",
    "relation",
    "spectrum",
]


def __getattr__(name: str) -> Any:
    if name not in _ENTRIES:
        raise AttributeError(f"module 'kerhrm.plots' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_ENTRIES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
