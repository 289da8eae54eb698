"""ERM in closed form on tangent features.

No step size, no number of steps, nothing to stop.
"""

from kerhrm.features.ridge import fit_ridge
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.methods.options import RidgeOptions


def train_ridge(inputs: Inputs, options: RidgeOptions) -> Fitted:
    """Fit :func:`kerhrm.features.ridge.fit_ridge` on the training points."""
    model = fit_ridge(
        inputs.network,
        inputs.x,
        inputs.y,
        n_landmarks=options.n_landmarks,
        seed=inputs.seed,
        weights=inputs.weights,
        units=inputs.units,
    )
    return Fitted({"model": model}, chosen={"ridge": model.ridge})
