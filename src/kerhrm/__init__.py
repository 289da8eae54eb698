"""Kernelized heterogeneous risk minimisation: the paper's algorithm as a library.

As in scikit-learn, on a table:

>>> from sklearn.datasets import load_diabetes
>>> from kerhrm import KerHRMRegressor
>>> X, y = load_diabetes(return_X_y=True)
>>> model = KerHRMRegressor(network=(64,), pretest=False, random_state=0)
>>> model.set_params(k=5, n_init=1, n_iterations=1, if_not_better="fit").fit(X, y)
KerHRMRegressor(...)
>>> model.predict(X).shape
(442,)

Step by step, on tensors:

>>> import torch
>>> from kerhrm import KerHRMOptions, NetworkOptions, NTFMap, Problem, build, fit
>>> x = torch.randn(80, 2, generator=torch.Generator().manual_seed(0))
>>> network = build(NetworkOptions(widths=[64]), seed=0, d=2)
>>> features = NTFMap.fit(network, x[:60], k=5)
>>> problem = Problem.from_features(
...     features, x[60:], y=x[:60, 0], y_validation=x[60:, 0],
...     task="regression", seed=0)
>>> final = fit(problem, KerHRMOptions(k=[5], n_iterations=1)).final
>>> final.predict(*features.transform(x[60:])).shape
torch.Size([20])

Names are imported at their first use (``__init__.pyi`` lists them).
"""

import lazy_loader

_lazy_getattr, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("kerhrm")
    return _lazy_getattr(name)
