"""Reference rows that need no training: what is known of the synthetic data."""

from collections.abc import Mapping

import numpy as np
import scipy  # whose modules are imported when they are used

from kerhrm.randomness import stream
from kerhrm_paper.data.classification import ClassificationData, deviations
from kerhrm_paper.data.colored_mnist import ColoredMnistData
from kerhrm_paper.data.generator import ReferenceRows
from kerhrm_paper.data.regression import RegressionData, draw_unselected
from kerhrm_paper.data.temporal import TemporalData

#: titles of reference rows
BAYES = "ref: Bayes pooled"
CEILING = "ref: invariant ceiling"
LEAST_SQUARES = "ref: least squares on S"
STRUCTURAL = "ref: structural function"
NAN = float("nan")
DRAWS = 400_000  # behind the errors of the regression: to about 1 %


def classification(data: ClassificationData) -> ReferenceRows:
    """Accuracies of the Bayes rule for the pooled training data, and of the best
    invariant rule."""
    sigma_s, sigma_v = deviations(data)
    if data.spurious == "V":
        stable = sigma_s
        spurious = sigma_v
    else:
        stable = sigma_v
        spurious = sigma_s
    r_pooled = (data.r1 + data.r2) / 2
    of_s = invariant_ceiling(data.d, stable)
    differ = 1 - data.agreement
    of_agreeing = data.agreement * of_s
    of_differing = differ * (1 - of_s)
    ceiling = of_agreeing + of_differing

    def bayes(r: float) -> float:
        return bayes_pooled_accuracy(
            r_train=r_pooled,
            r=r,
            d=data.d,
            sigma_s=stable,
            sigma_v=spurious,
            agreement=data.agreement,
        )

    names = [f"r_test={r:.2f}" for r in data.r_test]
    of_tests = [bayes(r) for r in data.r_test]
    bayes_of_tests = dict(zip(names, of_tests, strict=True))
    ceilings = dict.fromkeys(names, ceiling)
    return {
        BAYES: _accuracies(bayes(r_pooled), bayes_of_tests),
        CEILING: _accuracies(ceiling, ceilings),
    }


def _accuracies(
    training: float, tests: Mapping[str, float]
) -> dict[tuple[str, str], float]:
    """Metrics of a rule, by its accuracies in training and in test environments.

    ``test_acc`` is of the first one.
    """
    accuracies = list(tests.values())
    test = accuracies[0]
    metrics = {
        ("", "train_acc"): training,
        ("", "test_acc"): test,
        ("", "worst_acc"): min(accuracies),
        ("", "generalisation_gap"): test - training,
    }
    for name, accuracy in tests.items():
        metrics[name, "test_acc"] = accuracy
    return metrics


def regression(data: RegressionData) -> ReferenceRows:
    """Test errors of least squares on S, and of the structural function."""
    errors = reference_errors(data)
    return {
        LEAST_SQUARES: _errors(errors["least squares on S"]),
        STRUCTURAL: _errors(errors["structural function"]),
    }


def _errors(errors: np.ndarray) -> dict[tuple[str, str], float]:
    """Metrics of a rule, by its errors (E,) in the test environments."""
    spread = NAN
    if len(errors) > 1:
        spread = float(errors.std(ddof=1))
    mean = float(errors.mean())
    worst = float(errors.max())
    return {
        ("", "mean_error"): mean,
        ("", "worst_error"): worst,
        ("", "error_sd"): spread,
    }


def temporal(data: TemporalData) -> ReferenceRows:
    """Accuracy of the best rule on S: in every environment it is the same."""
    of_w = invariant_ceiling(data.d, 1.0)
    of_right = (1 - data.noise) * of_w
    of_wrong = data.noise * (1 - of_w)
    accuracy = of_right + of_wrong
    names = [f"p={p:g}" for p in data.p_test]
    tests = dict.fromkeys(names, accuracy)
    return {CEILING: _accuracies(accuracy, tests)}


def colored_mnist(data: ColoredMnistData) -> ReferenceRows:
    """Accuracy of a rule that knows every digit and ignores its colour.

    It errs where the label does, in every environment alike.
    """
    noise = data.label_noise
    accuracy = max(noise, 1 - noise)
    names = [f"e_test={flip:.2f}" for flip in data.test_flip]
    tests = dict.fromkeys(names, accuracy)
    return {CEILING: _accuracies(accuracy, tests)}


def invariant_ceiling(d: int = 5, sigma_s: float = 3.0) -> float:
    r"""Best accuracy that S alone allows, in every environment.

    The optimal rule is the sign of sum_i S_i ~ N(d Y, d sigma_s^2), hence

    .. math:: \Phi(\sqrt{d} / \sigma_s),

    0.772 for the constants of the paper.  ``sigma_s`` is a standard deviation.
    """
    distance = d**0.5 / sigma_s
    probability = scipy.special.ndtr(distance)
    return float(probability)


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
    half_square = z**2 / 2
    kernel = np.exp(-half_square)
    density = kernel / np.sqrt(2 * np.pi)
    with np.errstate(divide="ignore"):
        probabilities = [r_train, 1 - r_train]
        agree, differ = np.log(probabilities)

    def accuracy_given(a: int) -> float:
        """P(the rule is right | Y = 1, A = a)."""
        noise = d**0.5 * sigma_v * z
        log_odds = a * d + noise
        b = log_odds / sigma_v**2
        log_positive = np.logaddexp(agree + b, differ - b)
        log_negative = np.logaddexp(differ + b, agree - b)
        log_ratio = log_positive - log_negative
        threshold = _threshold(log_ratio, agreement)
        scale = d**0.5 * sigma_s
        shift = sigma_s**2 * threshold
        z_agrees = (d - shift) / scale
        z_differs = (-d - shift) / scale
        if_s_agrees = scipy.special.ndtr(z_agrees)
        if_s_differs = scipy.special.ndtr(z_differs)
        of_agreeing = agreement * if_s_agrees
        of_differing = (1 - agreement) * if_s_differs
        correct = of_agreeing + of_differing
        products = density * correct
        return float(step * np.sum(products))

    if_agrees = accuracy_given(1)
    if_differs = accuracy_given(-1)
    return r * if_agrees + (1 - r) * if_differs


def _threshold(g: np.ndarray, agreement: float) -> np.ndarray:
    """c^* of :func:`bayes_pooled_accuracy`, which c must exceed, by the log-odds g."""
    if agreement == 1:
        return -g / 2
    odds = agreement / (1 - agreement)
    largest = np.log(odds)
    bound = largest * (1 - 1e-12)
    # clipped, so that neither logarithm is of a number that is not positive
    clipped = np.clip(g, -bound, bound)
    numerator = odds * np.exp(-clipped) - 1
    denominator = odds * np.exp(clipped) - 1
    log_ratio = np.log(numerator) - np.log(denominator)
    threshold = (log_ratio + g) / 2
    never_or_always = np.copysign(np.inf, -g)
    is_inside = np.abs(g) < bound
    return np.where(is_inside, threshold, never_or_always)


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
    absolute = np.abs(r)
    c = 5 * np.log(absolute)
    scaled = y / tau
    shift = c * tau
    log_kept_above = scipy.special.log_ndtr(scaled - shift)
    log_kept_below = scipy.special.log_ndtr(-scaled - shift)
    above = -c * y + log_kept_above
    below = c * y + log_kept_below
    of_either = np.logaddexp(above, below)
    log_probability = c**2 * tau**2 / 2 + of_either
    probability = np.exp(log_probability)
    return np.asarray(probability)


def reference_errors(data: RegressionData) -> dict[str, np.ndarray]:
    r"""Mean squared test errors that tell what a method's figure is worth.

    V is independent of (S, Y) before the selection, so expectations of a selected
    environment are weighted ones without selection,

    .. math:: E[h(S, Y) \mid r] = E[h(S, Y) \, g_r(Y)] / E[g_r(Y)],

    with g_r from :func:`kept_given_y`; the right side is averaged over fixed draws.
    With the released constants and r = 1.9 the means over the test environments are
    2.18 for zero, 1.53 for least squares and .88 for f.

    Parameters
    ----------
    data : RegressionData
        Constants and selection biases.

    Returns
    -------
    dict of str to ndarray, (E,)
        Errors in the test environments, by name: of predicting 0, which is Y's mean in
        every environment, by symmetry; of least squares on S, fitted to infinitely many
        points of the training mixture; of the structural function f(S) = Y - epsilon.
    """
    random = stream(0, "data", "regression", "reference")
    s, y, f = draw_unselected(random, DRAWS, data)
    near = y if data.selected_on == "label" else f

    def weights(bias: float) -> np.ndarray:
        kept = kept_given_y(near, bias, data.tau)
        kept = kept**data.selected_by
        share = kept / kept.sum()
        return np.asarray(share)

    of_first = weights(data.r)
    of_second = weights(data.r_second)
    environments = [of_first, of_second]
    training = np.average(environments, axis=0, weights=data.n_train)
    weighted = s * training[:, None]
    covariance = weighted.T @ s
    covariance_with_y = weighted.T @ y
    slope = np.linalg.solve(covariance, covariance_with_y)
    of_s = y - s @ slope
    of_f = y - f
    residuals = np.stack([y, of_s, of_f])
    squares = residuals**2
    of_tests = [squares @ weights(r) for r in data.test_r]
    errors = np.stack(of_tests, axis=1)
    return {
        "zero": errors[0],
        "least squares on S": errors[1],
        "structural function": errors[2],
    }
