"""Reference rows that need no training: what is known of the synthetic data."""

import numpy as np
import scipy  # whose modules are imported when they are used

from kerhrm.randomness import stream
from kerhrm_paper.data.classification import ClassificationData, deviations
from kerhrm_paper.data.regression import RegressionData, draw_unselected
from kerhrm_paper.data.temporal import TemporalData

#: value by row name, then by test environment ("": all) and metric
Rows = dict[str, dict[tuple[str, str], float]]
NAN = float("nan")
DRAWS = 400_000  # behind the errors of the regression: to about 1 %


def classification(data: ClassificationData) -> Rows:
    """Accuracies of the Bayes rule for the pooled training data, and of the best
    invariant rule."""
    sigmas = deviations(data)
    stable, spurious = sigmas if data.spurious == "V" else sigmas[::-1]
    pooled = (data.r1 + data.r2) / 2
    right = invariant_ceiling(data.d, stable)
    ceiling = data.agreement * right + (1 - data.agreement) * (1 - right)

    def bayes(r: float) -> float:
        return bayes_pooled_accuracy(
            pooled, r, data.d, stable, spurious, data.agreement
        )

    rows: Rows = {}
    for name, rule in (
        ("Bayes pooled", bayes),
        ("invariant ceiling", lambda r: ceiling),
    ):
        own, others = rule(pooled), [rule(r) for r in data.r_test]
        test = float(np.mean(others))
        found = {"train_acc": own, "test_acc": test, "generalisation_gap": test - own}
        rows[f"ref: {name}"] = {
            ("", metric): value for metric, value in found.items()
        } | {
            (f"r_test={r:.2f}", "test_acc"): v
            for r, v in zip(data.r_test, others, strict=True)
        }
    return rows


def regression(data: RegressionData) -> Rows:
    """Test errors of least squares on S, and of the structural function."""
    return {
        f"ref: {name}": {
            ("", "mean_error"): float(errors.mean()),
            ("", "error_sd"): float(errors.std(ddof=1)) if len(errors) > 1 else NAN,
        }
        for name, errors in reference_errors(data).items()
        if name != "zero"  # which tables measure
    }


def temporal(data: TemporalData) -> Rows:
    """Accuracy of the best rule on S: in every environment it is the same."""
    right = invariant_ceiling(data.d, 1.0)
    value = (1 - data.noise) * right + data.noise * (1 - right)
    metrics = {
        "train_acc": value,
        "test_acc": value,
        "worst_acc": value,
        "generalisation_gap": 0.0,
    }
    return {
        "ref: invariant ceiling": {("", name): value for name, value in metrics.items()}
    }


def invariant_ceiling(d: int = 5, sigma_s: float = 3.0) -> float:
    r"""Best accuracy that S alone allows, in every environment.

    The optimal rule is the sign of sum_i S_i ~ N(d Y, d sigma_s^2), hence

    .. math:: \Phi(\sqrt{d} / \sigma_s),

    0.772 for the constants of the paper.  ``sigma_s`` is a standard deviation.
    """
    return float(scipy.special.ndtr(d**0.5 / sigma_s))


def bayes_pooled_accuracy(
    r_train: float,
    r: float,
    d: int = 5,
    sigma_s: float = 3.0,
    sigma_v: float = 0.3,
    agreement: float = 1.0,
) -> float:
    r"""Accuracy at bias rate ``r`` of the Bayes rule for the bias rate ``r_train``.

    With :math:`b = \sum_i V_i / \sigma_v^2` and :math:`c = \sum_i S_i / \sigma_s^2`,
    the log-odds of Y given X are

    .. math::
        g_p(c) + g_\rho(b), \qquad g_\rho(b) = \log \frac{\rho e^b + (1 - \rho)
        e^{-b}}{(1 - \rho) e^b + \rho e^{-b}},

    where rho is ``r_train`` and p > 1/2 the ``agreement`` of S with Y.  They are
    positive where

    .. math::
        c > c^*(b) = \frac{1}{2} \log \frac{p e^{-g} - (1 - p)}{p - (1 - p) e^{-g}},
        \qquad g = g_\rho(b),

    always where the numerator is not positive and never where the denominator is not.
    For Y = 1 (the other case is its mirror image) S and V are Gaussian, so the accuracy
    is

    .. math::
        E_B E_b \, \Phi\left( \frac{d B - \sigma_s^2 c^*(b)}{\sqrt{d} \sigma_s} \right),
        \qquad b \mid A \sim N(A d / \sigma_v^2, \, d / \sigma_v^2),

    with P(A = 1) = r and P(B = 1) = p,

    integrated numerically.  ERM on pooled training data approaches it with
    ``r_train = (r1 + r2) / 2``: 0.848 in training and 0.479 at r = 0.1 for r2 = 0.7.
    The sigmas are standard deviations.
    """
    # The trapezoidal rule converges geometrically for a smooth integrand with Gaussian
    # tails.
    z, step = np.linspace(-10, 10, 20001, retstep=True)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    with np.errstate(divide="ignore"):
        agree, differ = np.log([r_train, 1 - r_train])

    def accuracy_given(a: int) -> float:
        b = (a * d + d**0.5 * sigma_v * z) / sigma_v**2
        g = np.logaddexp(agree + b, differ - b) - np.logaddexp(differ + b, agree - b)
        threshold = -g / 2
        if agreement < 1:
            odds = agreement / (1 - agreement)
            bound = np.log(odds) * (1 - 1e-12)
            over, under = (
                odds * np.exp(np.clip(sign * g, -bound, bound)) - 1 for sign in (-1, 1)
            )
            threshold = (np.log(over) - np.log(under) + g) / 2
            threshold = np.where(np.abs(g) < bound, threshold, np.copysign(np.inf, -g))
        correct = sum(
            share
            * scipy.special.ndtr(
                (sign * d - sigma_s**2 * threshold) / (d**0.5 * sigma_s)
            )
            for sign, share in ((1, agreement), (-1, 1 - agreement))
        )
        return float(step * np.sum(density * correct))

    return r * accuracy_given(1) + (1 - r) * accuracy_given(-1)


def kept_given_y(y: np.ndarray, r: float, tau: float) -> np.ndarray:
    r"""Probability that a point of label y, (n,), is kept, whatever its V, of deviation
    tau.

    With :math:`c = 5 \log |r|` and Phi the normal distribution function,

    .. math::
        E_{V_b} \, |r|^{-5 |y - \mathrm{sign}(r) V_b|} = e^{c^2 \tau^2 / 2} \left[
        e^{-c y} \Phi\left(\frac{y}{\tau} - c \tau\right) +
        e^{c y} \Phi\left(-\frac{y}{\tau} - c \tau\right) \right],

    the same for r and -r.
    """
    c = 5 * np.log(np.abs(r))
    above = -c * y + scipy.special.log_ndtr(y / tau - c * tau)
    below = c * y + scipy.special.log_ndtr(-y / tau - c * tau)
    return np.asarray(np.exp(c**2 * tau**2 / 2 + np.logaddexp(above, below)))


def reference_errors(data: RegressionData) -> dict[str, np.ndarray]:
    r"""Mean squared test errors that tell what a method's figure is worth.

    V is independent of (S, Y) before the selection, so expectations of a selected
    environment are weighted ones without selection,

    .. math:: E[h(S, Y) \mid r] = E[h(S, Y) \, g_r(Y)] / E[g_r(Y)],

    with g_r from :func:`kept_given_y`; the right side is averaged over fixed draws.
    With the released constants and r = 1.9 the means over the test environments are
    2.18 for zero, 1.53 for least squares and .88 for f.

    Returns by name those of predicting 0, which is Y's mean in every environment, by
    symmetry; of least squares on S, fitted to infinitely many points of the training
    mixture; of the structural function f(S) = Y - epsilon.
    """
    s, y, f = draw_unselected(stream(0, "data", "regression", "reference"), DRAWS, data)

    def weights(bias: float) -> np.ndarray:
        near = y if data.selected_on == "label" else f
        w = kept_given_y(near, bias, data.tau) ** data.selected_by
        return np.asarray(w / w.sum())

    training = np.average(
        [weights(data.r), weights(data.r_second)], axis=0, weights=data.n_train
    )
    weighted = s * training[:, None]
    slope = np.linalg.solve(weighted.T @ s, weighted.T @ y)
    squares = np.stack([y, y - s @ slope, y - f]) ** 2
    errors = np.stack([squares @ weights(e) for e in data.test_r], axis=1)
    return dict(
        zip(("zero", "least squares on S", "structural function"), errors, strict=True)
    )
