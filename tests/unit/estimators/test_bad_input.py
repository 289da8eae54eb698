"""What is wrong with a table or a parameter is told in one line: where, and the cure."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from kerhrm import EIIL, ERM, HRM, IRM, KerHRM, KerHRMClassifier, KerHRMRegressor
from kerhrm.errors import KerhrmError
from kerhrm.estimators.notices import DataWarning
from kerhrm.estimators.predictors import as_predictor

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.notices.NothingFoundWarning")

N = 40
SMALL: dict[str, Any] = {"k": 2, "n_init": 1, "n_iterations": 1, "network": (8,)}
RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.normal(size=(N, 3)), columns=["age", "height", "city"])
LABELS = np.where(X["age"] + RANDOM.normal(size=N) > 0, "yes", "no")
NUMBERS = X["age"].to_numpy() + RANDOM.normal(size=N)
CLASSIFIER, REGRESSOR = KerHRMClassifier(**SMALL), KerHRMRegressor(**SMALL)


def with_value(value: Any, column: str = "height") -> pd.DataFrame:
    changed = X.astype({column: object}) if isinstance(value, str) else X.copy()
    changed.loc[3, column] = value
    return changed


def fit(x: Any = X, y: Any = LABELS, model: Any = CLASSIFIER, **given: Any) -> Callable[[], Any]:
    return lambda: model.fit(x, y, **given)


def told(y: np.ndarray, row: int, value: Any) -> np.ndarray:
    changed = y.astype(object)
    changed[row] = value
    return changed


def predict(x: Any) -> Callable[[], Any]:
    return lambda: CLASSIFIER.fit(X, LABELS).predict(x)


def wrong(**parameters: Any) -> Callable[[], Any]:
    return fit(model=KerHRMClassifier(**(SMALL | parameters)))


CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "a missing value": (
        fit(with_value(np.nan)),
        r"column 'height' has missing values \(NaN\) in 1 rows, first in row 3; drop these rows, or"
        r" fill them in \(SimpleImputer\)",
    ),
    "pandas' NA": (
        fit(X.assign(age=pd.array([pd.NA, *range(N - 1)], dtype="Int64"))),
        r"column 'age' has missing values \(NaN\) in 1 rows, first in row 0; drop",
    ),
    "an infinite value": (
        fit(with_value(-np.inf)),
        r"column 'height' has infinite values \(inf\) in 1 rows, first in row 3; drop",
    ),
    "a code for missing": (
        fit(with_value(1e30)),
        r"column 'height' has values beyond 1e\+20 in 1 rows, first in row 3; drop or fill in",
    ),
    "a missing value in an array": (
        fit(with_value(np.nan).to_numpy()), r"column 1 has missing values \(NaN\)",
    ),
    "text": (
        fit(with_value("Paris", "city")),
        r"column 'city' holds 'Paris' \(row 3\), which is no number; drop the column, or encode"
        r" it \(OneHotEncoder\(sparse_output=False\)\)",
    ),
    "text in an array": (
        fit(np.array([["1", "2"], ["3", "red"]] * 20)), r"column 1 holds 'red' \(row 1\)",
    ),
    "dates": (
        fit(X.assign(born=pd.Timestamp("2001-02-03"))), r"column 'born' holds '2001-02-03",
    ),
    "a name that stands twice": (
        fit(X.set_axis(["a", "b", "a"], axis=1)),
        r"two columns are called 'a'; rename or drop one of them",
    ),
    "no target": (fit(y=None), "requires y to be passed, but the target y is None"),
    "a missing label": (
        fit(y=told(LABELS, 7, None)),
        r"the target y is missing \(NaN\) in 1 rows, first in row 7; drop these rows",
    ),
    "a missing number": (
        fit(y=pd.Series(told(NUMBERS, 7, np.nan), name="price"), model=REGRESSOR),
        r"target 'price' is missing \(NaN\) in 1 rows, first in row 7",
    ),
    "pandas' NA in the target": (
        fit(y=pd.Series(told(LABELS, 7, pd.NA), dtype="string")),
        r"the target y is missing \(NaN\) in 1 rows, first in row 7; drop these rows",
    ),
    "an infinite target": (
        fit(y=told(NUMBERS, 7, np.inf), model=REGRESSOR), r"the target y has infinite values",
    ),
    "an infinite label": (
        fit(y=np.where(X["age"] > 0, np.inf, 0.0)), "the target y has infinite values; drop",
    ),
    "an enormous target": (
        fit(y=told(NUMBERS, 7, 1e30), model=REGRESSOR), r"the target y has values beyond 1e\+20",
    ),
    "a target of text": (
        fit(y=pd.Series(LABELS, name="answer"), model=REGRESSOR),
        "target 'answer' holds '(yes|no)', which is no number; give numbers, or use a classifier",
    ),
    "a constant target": (
        fit(y=np.full(N, 3.5), model=REGRESSOR),
        r"the target y is constant \(3.5\); there is nothing to learn: choose another target",
    ),
    "one class": (
        fit(y=np.full(N, "yes")),
        "the target y has only one class, 'yes'; give rows of a second one",
    ),
    "three classes": (
        fit(y=np.arange(N) % 3),
        r"Only binary classification is supported. The type of the target is multiclass; wrap the"
        r" estimator: OneVsRestClassifier",
    ),
    "numbers for labels": (fit(y=NUMBERS), "Unknown label type: continuous"),
    "two targets": (
        fit(y=np.column_stack([NUMBERS, NUMBERS]), model=REGRESSOR),
        "the target y has 2 columns; fit one estimator for each",
    ),
    "targets of another length": (
        fit(y=LABELS[:-1]), "40 rows of X but 39 of the target y; give one target for each row",
    ),
    "no rows": (fit(X[:0], LABELS[:0]), "0 sample"),
    "two rows": (
        fit(X[:2], ["no", "yes"]), "n_samples=2 rows are too few to train and validate on; give 3",
    ),
    "fewer rows than environments": (
        fit(X[:8], LABELS[:8], KerHRMClassifier(n_environments=12, network=(8,))),
        "6 training rows are fewer than n_environments=12; lower it, or give more rows",
    ),
    "a single row's label trains": (
        fit(X, LABELS, validation=(X, np.full(N, "maybe"))),
        "label 'maybe' was not among those of the fit; known are 'no' and 'yes'",
    ),
    "weights that are no counts": (
        fit(sample_weight=np.linspace(0.5, 1, N)),
        r"sample_weight of row 0 is 0.5, but EM and the validation split take whole rows; give",
    ),
    "negative weights": (fit(sample_weight=-np.ones(N)), "sample_weight of row 0 is -1; give 0"),
    "weights of zero": (fit(sample_weight=np.zeros(N)), "sample_weight is zero in every row; give"),
    "weights of another length": (
        fit(sample_weight=np.ones(3)), r"sample_weight has shape \(3,\) for 40 rows; give one",
    ),
    "a new column": (
        predict(X.rename(columns={"city": "town"})),
        "other columns than in the fit: 'town' is new, 'city' is missing; give the columns of the",
    ),
    "another order": (
        predict(X[["city", "age", "height"]]), "the columns are in another order than in the fit",
    ),
    "fewer columns": (
        lambda: CLASSIFIER.fit(X.to_numpy(), LABELS).predict(X.to_numpy()[:, :2]),
        "the fit had 3 columns and here are 2; give the columns of",
    ),
    "a new category": (predict(with_value("Paris", "city")), "column 'city' holds 'Paris'"),
    "a value that is missing later": (predict(with_value(np.nan)), r"column 'height' has missing"),
    "no predictor": (wrong(predictor="tree"), "predictor='tree' is not known; take 'ntf' or 'netw"),
    "no fallback": (wrong(when_homogeneous="stop"), "when_homogeneous='stop' is not known; take"),
    "no k": (wrong(k=0), "k=0: Input should be greater than 0; see the parameter"),
    "no environments": (wrong(n_environments=0), "n_environments=0: Input should be greater than"),
    "no such penalty": (wrong(penalty="none"), "penalty='none': Input should be 'gradient_var"),
    "a weight below zero": (wrong(alpha=[0.1, -1.0]), "alpha=-1.0: Input should be greater"),
    "no landmarks": (wrong(n_landmarks=0), "n_landmarks=0 is no number of rows; give 1000"),
    "no options": (wrong(options={"k": [2]}), r"options={'k': \[2\]} are none; give kerhrm.KerHRM"),
    "all rows validate": (
        wrong(validation_fraction=1.0), "validation_fraction=1.0 is not between 0 and 1; take 0.2",
    ),
    "no network": (wrong(network=3.5), "network=3.5 is no network; give hidden widths such as"),
    "an empty layer": (wrong(network=(8, 0)), r"network=\(8, 0\) has a layer without units; give"),
    "no module": (wrong(network="nowhere:net"), "cannot load 'nowhere:net': No module named"),
    "a nameless factory": (
        wrong(network=lambda d: torch.nn.Linear(d, 1)),
        "cannot be found again by its name; define the function at the top level of a module",
    ),
    "two outputs": (
        wrong(network="factories:vector"),
        r"module 'factories:vector' maps 16 points to \(16, 2\), not to one number a point; return",
    ),
    "no device": (wrong(device="cuda:99"), "device=cuda:99, but PyTorch sees 0 GPUs; use device="),
    "no task": (
        fit(model=ERM(task="ranking")), "task='ranking' is not known; classification or regression",
    ),
    "no steps": (fit(model=ERM(steps=0)), "steps=0: Input should be greater than 0; see"),
    "no loss": (fit(model=EIIL(loss="hinge")), "loss='hinge': Input should be 'squared' or 'logis"),
    "the loss of labels": (
        fit(y=NUMBERS, model=IRM(task="regression", loss="logistic"), environments=LABELS),
        "the logistic loss needs labels -1 and \\+1; use loss",
    ),
    "rows without an environment": (
        fit(model=IRM(), environments=[None, np.nan, *LABELS[2:]]),
        "environments are missing in 2 rows; drop these rows, or name their environment",
    ),
    "environments of another length": (
        fit(model=IRM(), environments=[0, 1]), r"environments have shape \(2,\) for 40 rows; give",
    ),
}  # fmt: skip


@pytest.mark.skipif(torch.cuda.is_available(), reason="one case asks for a GPU that is not there")
@pytest.mark.parametrize("case", CASES)
def test_it_is_told_in_one_line(case: str) -> None:
    do, message = CASES[case]
    with pytest.raises(ValueError, match=message) as caught:
        do()
    by_scikit_learn = {"numbers for labels", "no rows"}
    if case not in by_scikit_learn:
        assert isinstance(caught.value, KerhrmError)
        lines = str(caught.value).split("\n")
        assert len(lines[0]) < 200
        assert len(lines) == 1 or "columns" in lines[0]  # scikit-learn's own words follow


def test_an_estimator_says_which_parameters_it_has() -> None:
    with pytest.raises(TypeError, match="ERM has no parameter 'weight'"):
        ERM(weight=1)
    with pytest.raises(ValueError, match="Invalid parameter 'weight' for estimator ERM"):
        ERM().set_params(weight=1)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (X.assign(city=1.0), r"column 'city' is constant \(1\) and tells nothing; drop it"),
        (X.assign(city=X["age"]), "column 'city' repeats column 'age' in every row; drop one of"),
    ],
)
def test_what_is_odd_is_warned_of(x: pd.DataFrame, message: str) -> None:
    with pytest.warns(DataWarning, match=message):
        model = KerHRMClassifier(**SMALL).fit(x, LABELS)
    assert np.isfinite(model.decision_function(x)).all()


def test_without_environments_irm_has_one() -> None:
    with pytest.warns(DataWarning, match="no environments given: all rows count as one"):
        IRM(network=(4,), steps=2).fit(X, LABELS)


def test_a_method_s_function_is_a_network_or_linear() -> None:
    with pytest.raises(KerhrmError, match="method 'mine' returns a function that is neither"):
        as_predictor(lambda x: (x**2).sum(-1), torch.zeros(1, 4, 3), "mine")


@pytest.mark.parametrize(
    ("values", "kind"),
    [([False, True], "b"), ([0, 1], "i"), ([1, 2.0], "f"), (["no", "yes"], "O")],
)
def test_labels_among_objects_are_what_they_are(values: list[Any], kind: str) -> None:
    y = np.array(values, dtype=object)[(LABELS == "yes").astype(int)]
    model = ERM(network=(8,), steps=20, random_state=0).fit(X, y, validation=(X, y))
    assert model.classes_.tolist() == values
    assert model.predict(X).dtype.kind == kind
    assert model.score(X, y) == model.score(X, pd.Series(y)) > 0.5
    if kind in "bi":  # of a type that may have missing values
        nullable = pd.Series(y).convert_dtypes()
        assert model.fit(X, nullable, validation=(X, nullable)).predict(X).dtype.kind == kind
        assert model.score(X, nullable) == model.score(X, y)


class Columns:
    """A table of another library than pandas: its names are a list."""

    shape = (N, 3)

    def __init__(self) -> None:
        self.columns = ["a", "b", "c"]

    def __len__(self) -> int:
        return N

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(X, dtype=dtype)


def test_tables_of_other_libraries_are_read() -> None:
    model = ERM(network=(8,), steps=20, random_state=0)
    outputs = [model.fit(x, LABELS).decision_function(x) for x in (Columns(), X.to_numpy())]
    np.testing.assert_array_equal(*outputs)


def test_numbers_as_text_and_as_objects_are_numbers() -> None:
    x = X.to_numpy().astype(object)
    first = HRM(iterations=1, cluster_steps=20, gate_steps=20, random_state=0).fit(x, LABELS)
    again = HRM(iterations=1, cluster_steps=20, gate_steps=20, random_state=0).fit(X, LABELS)
    np.testing.assert_array_equal(first.decision_function(x), again.decision_function(X))
    assert KerHRM().clustering.clusters == 2
