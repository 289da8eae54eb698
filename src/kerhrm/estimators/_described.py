"""The table of a fit, and what the fit knows of it, as a description reads them."""

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import _safe_indexing

from kerhrm.description.break_even import BreakEven, Losses, break_even
from kerhrm.description.describe import Known
from kerhrm.description.regressions import explains_exactly
from kerhrm.description.rows import DescribedRows
from kerhrm.description.split import Split, likely_split
from kerhrm.errors import KerhrmError
from kerhrm.estimators._base import fingerprint
from kerhrm.estimators._parameters import fit_options
from kerhrm.estimators._start import GivenRows
from kerhrm.heterogeneity.residuals import spread_ties
from kerhrm.heterogeneity.result import HeterogeneityResult
from kerhrm.networks.base import resolve_device
from kerhrm.randomness import stream
from kerhrm.tables.data import read_features
from kerhrm.tables.targets import read_target, read_weights

NOISE = "this may be noise of two kinds"
#: what no number of rows shows to the pre-test
BLIND = "differ in their level, noise or inputs alone, or by a slope that flips in half"


@dataclass(frozen=True)
class FittedTable:
    """The table of a fit.

    Attributes
    ----------
    x : ndarray, (n_samples, d), float64
        Columns, in the order of the fit's table.
    target : ndarray, (n_samples,)
        Labels or numbers.
    weights : ndarray, (n_samples,), or None
        None: all alike.
    auxiliary : array-like, or None
        As it was given.
    index : Index, (n_samples,)
        Labels of the rows.
    rows : DescribedRows
        Draws that they are, sorted.
    """

    x: np.ndarray
    target: np.ndarray
    weights: np.ndarray | None
    auxiliary: Any
    index: pd.Index
    rows: DescribedRows

    @classmethod
    def read(cls, model: Any, given: GivenRows) -> Self:
        """Read the rows of a model's fit.

        Raises KerhrmError if they are other rows.
        """
        x = read_features(model, given.X, reset=False)
        n = len(x)
        target = read_target(given.y, n, model._task, table=given.X)
        weights = read_weights(given.sample_weight, n, given.X)
        z = None
        if given.auxiliary is not None:
            z = model._columns.read(given.auxiliary, n, given.X)
        _check_alike(model, (x, target, weights, z))
        labels = model._units.target(target)
        if model._task == "classification":
            signs = labels.double().numpy()
            y = (signs + 1) / 2
        else:
            y = target.astype(float)
        index = getattr(given.X, "index", None)
        if not isinstance(index, pd.Index):
            index = pd.RangeIndex(n)
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            n_columns = x.shape[1]
            names = [f"column {j}" for j in range(n_columns)]
        texts = [str(name) for name in names]
        rows = DescribedRows.sort(x, y, texts, index, weights, beside=z)
        return cls(x, target, weights, given.auxiliary, index, rows)

    def fitted_again(
        self, model: Any, half: np.ndarray, seed: int
    ) -> np.ndarray | None:
        """Likeliest environments of the sorted draws, by a fit to some of them.

        -1 of a draw with an auxiliary category that none of these has.
        With the model's K, k, alpha and iteration, and neither a pre-test nor what
        compares with ERM; None if these rows cannot be fitted.
        """
        twin = clone(model)
        parameters = model._parameters | _chosen(model) | {"random_state": seed}
        for name, value in parameters.items():  # a subclass need not have all of them
            setattr(twin, name, value)
        some = self.rows.order[half]
        weights = self.rows.counts[half]
        if self.weights is None:  # with auxiliary columns fit takes none
            copies = np.rint(weights).astype(np.int64)
            some = np.repeat(some, copies)
            weights = None
        auxiliary = _some(self.auxiliary, some)
        given = GivenRows(
            self.x[some], self.target[some], sample_weight=weights, auxiliary=auxiliary
        )
        try:
            options = fit_options(twin)
            rows = twin._read(given)
            prepared = twin._prepare(given, rows, options)
            prepared, _ = twin._pretest(prepared)
            twin._loop(prepared)
        except KerhrmError:
            return None
        order = self.rows.order
        if self.auxiliary is None:
            x = self.x[order]
            memberships = twin._inferred.of_targets(x, self.target[order])
            likeliest = memberships.argmax(1)
            return np.asarray(likeliest)
        n_rows = len(self.x)
        columns = twin._columns
        z = columns.read(self.auxiliary, n_rows, self.x, any_category=True)
        likeliest = twin._inferred.of_auxiliary(z).argmax(1)
        of_known = np.where(columns.unseen(z), -1, likeliest)
        return np.asarray(of_known[order])

    def residuals(self, model: Any) -> np.ndarray:
        """Residuals (n,) of ERM in the sorted draws, in the target's unit."""
        device = resolve_device(model.device)
        erm = model._simple["ERM"].to(device)
        in_order_given = model._in_blocks(erm, self.x)
        outputs = in_order_given[self.rows.order]
        units = model._units
        if units.classes is None:
            predictions = outputs * units.y_scale + units.y_mean
        else:
            predictions = (outputs + 1) / 2
        return self.rows.y - predictions


def _check_alike(model: Any, rows: tuple[Any, ...]) -> None:
    """Refuse rows that are not those of a model's fit, in their order.

    They are what :func:`~kerhrm.estimators._base.fingerprint` takes, inputs first.
    """
    x, *_ = rows
    n = len(x)
    n_fit = len(model.environments_)
    hint = "give the table of the fit, as it was then"
    if n != n_fit:
        problem = f"the fit had {n_fit} rows, and these are {n}"
        raise KerhrmError(problem, hint)
    if fingerprint(model, *rows) != model._fingerprint:
        problem = "these are other rows than those of the fit, or in another order"
        hint = f"{hint}, with its targets and weights"
        raise KerhrmError(problem, hint)


def _chosen(model: Any) -> dict[str, Any]:
    """Parameters of a fit that learns only what the model has chosen."""
    mixture = model._inferred.mixture
    _, n_environments = model.environment_proba_.shape
    values: dict[str, Any] = {
        "k": int(mixture.k[0]),
        "n_environments": max(2, n_environments),
        "pretest": False,
        "predictor": "linear",
        "if_not_detected": "fit",
        "verbose": 0,
    }
    if model.predictor_ != "erm":
        selected = model.selected_
        values["alpha"] = selected["alpha"]
        values["n_iterations"] = max(1, selected["iteration"])
    return values


def _some(auxiliary: Any, rows: np.ndarray) -> Any:
    """Some rows of auxiliary columns, as they were given."""
    return None if auxiliary is None else _safe_indexing(auxiliary, rows)


def known_of(model: Any, table: FittedTable, seed: int) -> Known:
    """What a fit knows of its table, with the split that is described."""
    rows = table.rows
    result = model.heterogeneity_
    detected = bool(result is not None and result.detected)
    residuals = table.residuals(model)
    regression = model._task == "regression"
    continuous = regression and len(np.unique(rows.y)) > 2
    if continuous:
        random = stream(seed, "ties")
        spread = spread_ties(rows.y, random)
        residuals = residuals + spread - rows.y
    exact = explains_exactly(rows)
    split, memberships, mixture = _split_of(model, rows, continuous, exact, seed)
    by_losses = _break_even(model, seed)
    verdict, notes = _verdict(model, by_losses, detected)
    if mixture is not None and model._inferred is not None:
        of_fit = model.environments_[rows.order]
        of_split = mixture.memberships.argmax(1)
        index = adjusted_rand_score(of_fit, of_split)
        text = "adjusted Rand index of this split and the environments of the fit"
        notes.append(f"{text}: {index:.2f}")
    visible = float("nan")
    if result is not None:
        visible = result.visible
    mark = _mark(model, split, detected, continuous, exact)
    return Known(
        rows=rows,
        index=table.index,
        verdict=verdict,
        limits=_limits(result),
        mark=mark,
        detected=detected,
        split=split,
        memberships=memberships,
        residuals=residuals,
        noise=_noise(model),
        continuous=continuous,
        visible=visible,
        break_even=by_losses,
        mixture=mixture,
        label=None if regression else model.classes_[-1],
        notes=tuple(notes),
    )


def _split_of(
    model: Any, rows: DescribedRows, continuous: bool, exact: bool, seed: int
) -> tuple[Literal["fit", "mixture", "none"], np.ndarray | None, Split | None]:
    """Where the described split comes from, its memberships, and the mixture.

    There is none of a target that the columns explain exactly: rounding would be split.
    """
    if exact:
        return "none", None, None
    if continuous and model.predictor_ == "erm":
        mixture = likely_split(rows, seed)
        if mixture is None:
            return "none", None, None
        return "mixture", mixture.memberships, mixture
    memberships = model.environment_proba_[rows.order]
    if model._inferred is None or memberships.shape[1] < 2:
        return "none", None, None
    return "fit", memberships, None


def _noise(model: Any) -> float:
    """Standard deviation of ERM's leave-one-out errors, in the target's unit."""
    error = float(model._simple["ERM"].error)
    # classes are -1 and 1 in the fit, 0 and 1 in a description
    classes = model._units.classes is not None
    unit = 0.5 if classes else model._units.y_scale
    return float(np.sqrt(error) * unit)


def _break_even(model: Any, seed: int) -> BreakEven | None:
    """Break-even share of the fit's environments, if KerHRM was fitted."""
    if model._losses is None:
        return None
    losses = Losses(**model._losses)
    return break_even(losses, seed)


def _verdict(
    model: Any, by_losses: BreakEven | None, detected: bool
) -> tuple[str, list[str]]:
    """One line on who predicts better, and notes."""
    if model.predictor_ == "erm":
        notes = []
        if by_losses is not None:
            kept = "if_not_better='fit' predicts by it"
            notes.append(f"by the environments of the fit: {by_losses}; {kept}")
        same = "(KerHRM predicts the same)"
        verdict = f"use ERM, the ordinary model {same}: {model._reason}"
        return verdict, notes
    found = "are detected" if detected else "are assumed, and not tested"
    if by_losses is None:
        return f"environments {found}; KerHRM predicts", []
    mixed = "for rows mixed like these"
    if by_losses.better == "neither":
        mixed += " KerHRM and ERM predict equally well"
    elif by_losses.better == "KerHRM":
        mixed += " KerHRM predicts better"
    else:
        mixed += " ERM, the ordinary model, predicts better"
        mixed += " (options={'margin': 1} takes it)"
    return f"environments {found}; {mixed}; {by_losses}", []


def _limits(result: HeterogeneityResult | None) -> tuple[str, ...]:
    """What the pre-test leaves open."""
    if result is None or np.isnan(result.visible):
        return ()
    blind = f"environments that {BLIND} of the rows"
    if result.detected:
        return (f"further {blind}",)
    weaker = (
        f"weaker ones: where a slope flips in a fifth of {result.n_points} rows, it is "
        f"seen if it makes some {result.visible:.0%} of the variance that ERM leaves"
    )
    return blind, weaker


def _mark(model: Any, split: str, detected: bool, continuous: bool, exact: bool) -> str:
    """What to think of a split."""
    result = model.heterogeneity_
    helps = model.predictor_ != "erm"
    if split == "none":
        what = "labels" if model._task == "classification" else "values"
        why = "too few rows" if continuous else f"two {what} have none of their own"
        if exact:
            why = "the columns explain the target exactly"
        return f"no split is shown: {why}"
    if detected:
        return "" if helps else "environments are detected, but KerHRM does not help"
    tested = result is not None and not np.isnan(result.p_value)
    if tested:
        return f"not detected: {NOISE}"
    if model._task == "classification" and helps:
        return "not tested, as two labels cannot be: environments are an assumption"
    return f"not tested: {NOISE}"
