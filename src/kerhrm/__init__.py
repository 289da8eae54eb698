"""Kernelized heterogeneous risk minimisation: the paper's algorithm as a library.

    features = NTFMap.fit(build(NetworkOptions(), seeds, d), x, k=25)
    problem = Problem(...)              # its reduced features, and the labels
    final = fit(problem, KerHRM()).final
    outputs = final.predict(*features.transform(x_new))

What stands here is imported when it is first asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kerhrm.algorithm.loop import fit as fit
    from kerhrm.algorithm.loop import iterate as iterate
    from kerhrm.algorithm.options import KerHRM as KerHRM
    from kerhrm.algorithm.problem import Problem as Problem
    from kerhrm.features.map import NTFMap as NTFMap
    from kerhrm.networks.build import build as build
    from kerhrm.networks.options import NetworkOptions as NetworkOptions

_ENTRIES = {
    "fit": "kerhrm.algorithm.loop",
    "iterate": "kerhrm.algorithm.loop",
    "KerHRM": "kerhrm.algorithm.options",
    "Problem": "kerhrm.algorithm.problem",
    "NTFMap": "kerhrm.features.map",
    "build": "kerhrm.networks.build",
    "NetworkOptions": "kerhrm.networks.options",
}
__all__ = ["KerHRM", "NTFMap", "NetworkOptions", "Problem", "build", "fit", "iterate"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("kerhrm")
    if name not in _ENTRIES:
        raise AttributeError(f"module 'kerhrm' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_ENTRIES[name]), name)
