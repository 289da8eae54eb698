"""Kernelized heterogeneous risk minimisation: the paper's algorithm as a library.

For a table of one's own, as in scikit-learn:

    model = KerHRMClassifier().fit(X, y)
    model.environments_, model.predict(X_new)

Step by step:

    features = NTFMap.fit(build(NetworkOptions(), seeds, d), x, k=25)
    problem = Problem(...)              # its reduced features, and the labels
    final = fit(problem, KerHRM()).final
    outputs = final.predict(*features.transform(x_new))

What stands here is imported when it is first asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kerhrm import plots as plots
    from kerhrm.algorithm.loop import fit as fit
    from kerhrm.algorithm.loop import iterate as iterate
    from kerhrm.algorithm.options import KerHRM as KerHRM
    from kerhrm.algorithm.problem import Problem as Problem
    from kerhrm.estimators.baselines import EIIL as EIIL
    from kerhrm.estimators.baselines import ERM as ERM
    from kerhrm.estimators.baselines import HRM as HRM
    from kerhrm.estimators.baselines import IRM as IRM
    from kerhrm.estimators.baselines import ChiSquareDRO as ChiSquareDRO
    from kerhrm.estimators.kerhrm import KerHRMClassifier as KerHRMClassifier
    from kerhrm.estimators.kerhrm import KerHRMRegressor as KerHRMRegressor
    from kerhrm.features.map import NTFMap as NTFMap
    from kerhrm.networks.build import build as build
    from kerhrm.networks.options import NetworkOptions as NetworkOptions

_ENTRIES = {
    "fit": "kerhrm.algorithm.loop",
    "iterate": "kerhrm.algorithm.loop",
    "KerHRM": "kerhrm.algorithm.options",
    "Problem": "kerhrm.algorithm.problem",
    "ChiSquareDRO": "kerhrm.estimators.baselines",
    "EIIL": "kerhrm.estimators.baselines",
    "ERM": "kerhrm.estimators.baselines",
    "HRM": "kerhrm.estimators.baselines",
    "IRM": "kerhrm.estimators.baselines",
    "KerHRMClassifier": "kerhrm.estimators.kerhrm",
    "KerHRMRegressor": "kerhrm.estimators.kerhrm",
    "NTFMap": "kerhrm.features.map",
    "build": "kerhrm.networks.build",
    "NetworkOptions": "kerhrm.networks.options",
}
__all__ = [
    "EIIL",
    "ERM",
    "HRM",
    "IRM",
    "ChiSquareDRO",
    "KerHRM",
    "KerHRMClassifier",
    "KerHRMRegressor",
    "NTFMap",
    "NetworkOptions",
    "Problem",
    "build",
    "fit",
    "iterate",
    "plots",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("kerhrm")
    if name not in __all__:
        raise AttributeError(f"module 'kerhrm' has no attribute '{name}'")
    from importlib import import_module

    if name == "plots":
        return import_module("kerhrm.plots")
    return getattr(import_module(_ENTRIES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
