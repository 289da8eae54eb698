"""Kernelized heterogeneous risk minimisation: the paper's algorithm as a library.

As in scikit-learn::

    model = KerHRMClassifier().fit(X, y)
    model.environments_, model.predict(X_new)

Step by step::

    features = NTFMap.fit(build(NetworkOptions(), seed=0, d=x.shape[1]), x, k=25)
    problem = Problem.from_features(features, x_validation, y, y_validation,
    "regression", seed=0) final = fit(problem, KerHRMOptions()).final outputs =
    final.predict(*features.transform(x_new))

Names are imported at their first use (``__init__.pyi`` lists them).
"""

import lazy_loader

_lazy_getattr, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("kerhrm")
    return _lazy_getattr(name)
