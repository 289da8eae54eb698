"""A tree of depth 2 that tells environments apart from the columns."""

import math
from dataclasses import dataclass

import numpy as np
from sklearn import config_context
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from kerhrm.description.rows import DescribedRows, environment_names
from kerhrm.tables.wording import counted

FOLDS = 5  #: of the cross-validation
LEAST = 5  #: rows of a leaf
LEAST_SHARE = 0.02  #: of a leaf among all rows
LEAST_GAIN = 1e-3  #: of a split, in Gini's impurity
MOST_DIGITS = 17  #: with which a number of 64 bits is written exactly


@dataclass(frozen=True)
class Tree:
    """Rules that tell environments apart, and how well.

    Attributes
    ----------
    rules : tuple of str
        A line for each leaf.
    accuracy : float
        Share of new rows whose environment the rules name, by cross-validation; NaN
        where an environment has fewer than two rows.
    majority : float
        The same without a rule: the share of the largest environment.
    n_rows : float
        Rows that are told apart; of weighted ones their effective number.
    """

    rules: tuple[str, ...]
    accuracy: float
    majority: float
    n_rows: float

    @property
    def says_more(self) -> bool:
        """Whether the rules are right more often than the largest environment is.

        By two standard errors of its share.
        """
        variance = self.majority * (1 - self.majority) / self.n_rows
        deviation = math.sqrt(variance)
        return self.accuracy > self.majority + 2 * deviation


def separate(rows: DescribedRows, memberships: np.ndarray) -> Tree:
    """Tell the likeliest environments of rows apart by their columns.

    A row counts by its certainty: (K max_j r_j - 1) / (K - 1), from 0 where all K
    environments are equally likely to 1, times its weight.  The target is no column:
    the rules are those by which a new row's environment could be known.
    """
    n, number = memberships.shape
    likeliest = memberships.argmax(1)
    largest = memberships.max(1)
    certainty = (number * largest - 1) / (number - 1)
    weights = np.maximum(certainty, 0) * rows.weights + 1e-12
    total = weights.sum()
    shares = np.bincount(likeliest, weights, minlength=number) / total
    least_rows = math.ceil(LEAST_SHARE * n)
    tree = DecisionTreeClassifier(
        max_depth=2,
        min_samples_leaf=max(LEAST, least_rows),
        min_impurity_decrease=LEAST_GAIN,
        random_state=0,
    )
    tree.fit(rows.x, likeliest, sample_weight=weights)
    sizes = np.bincount(likeliest)
    smallest = int(sizes[sizes > 0].min())
    folds = min(FOLDS, smallest)
    accuracy = math.nan
    if folds >= 2:
        split = StratifiedKFold(folds, shuffle=True, random_state=0)
        # with routing, which a user may have switched on, the tree would ask for it
        with config_context(enable_metadata_routing=False):
            predicted = cross_val_predict(
                tree,
                rows.x,
                likeliest,
                cv=split,
                params={"sample_weight": weights},
            )
        right = predicted == likeliest
        # sums of shares that are one may be rounded to more
        accuracy = min(float(weights @ right / total), 1.0)
    return Tree(
        rules=tuple(_rules(tree, rows, memberships)),
        accuracy=accuracy,
        majority=min(float(shares.max()), 1.0),
        n_rows=rows.effective_number,
    )


def _rules(
    tree: DecisionTreeClassifier, rows: DescribedRows, memberships: np.ndarray
) -> list[str]:
    """A rule for each leaf of a fitted tree."""
    _, n_environments = memberships.shape
    names = environment_names(n_environments)
    fitted = tree.tree_
    leaf_of_row = tree.apply(rows.x)
    rules = []

    # of a column and side the deeper condition is the narrower one, and stands alone
    def descend(node: int, conditions: dict[tuple[int, str], str]) -> None:
        left = fitted.children_left[node]
        right = fitted.children_right[node]
        if left == right:
            inside = leaf_of_row == node
            n_rows = inside.sum()
            weights = rows.weights[inside]
            shares = np.average(memberships[inside], axis=0, weights=weights)
            best = int(shares.argmax())
            path = " and ".join(conditions.values())
            where = f"if {path}" if path else "everywhere"
            share = f"{shares[best]:.0%} of {counted(n_rows)}"
            rules.append(f"{where}: {names[best]} ({share})")
            return
        j = fitted.feature[node]
        column = rows.x[:, j]
        threshold = fitted.threshold[node]
        name = rows.names[j]
        below, above = _sides(name, column, threshold)
        descend(left, conditions | {(j, "below"): below})
        descend(right, conditions | {(j, "above"): above})

    descend(0, {})
    return rules


def _sides(name: str, column: np.ndarray, threshold: float) -> tuple[str, str]:
    """Conditions of both sides of a threshold; of two values, each is named."""
    values = np.unique(column)
    if len(values) == 2:
        lower, upper = _different(*values)
        return f"{name} = {lower}", f"{name} = {upper}"
    at_most = column.astype(np.float32) <= threshold  # as the tree compares
    low = column[at_most].max()
    high = column[~at_most].min()
    bound = _between(threshold, low, high)
    return f"{name} <= {bound}", f"{name} > {bound}"


def _between(threshold: float, low: float, high: float) -> str:
    """Shortest text of a threshold, four digits or more, that is not below ``low`` and
    below ``high``: 2015.5 is not between 2015 and 2016 as 2016."""
    for digits in range(4, MOST_DIGITS):
        text = f"{threshold:.{digits}g}"
        if low <= float(text) < high:
            return text
    return f"{low:.{MOST_DIGITS}g}"


def _different(lower: float, upper: float) -> tuple[str, str]:
    """Shortest texts of two numbers, six digits or more, that differ."""
    for digits in range(6, MOST_DIGITS):
        texts = f"{lower:.{digits}g}", f"{upper:.{digits}g}"
        if len(set(texts)) == 2:
            return texts
    return f"{lower:.{MOST_DIGITS}g}", f"{upper:.{MOST_DIGITS}g}"
