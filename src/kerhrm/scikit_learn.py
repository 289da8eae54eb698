"""What scikit-learn 1.5 names otherwise than later versions: all of it is here."""

from typing import Any, Literal

import numpy as np
from sklearn import utils
from sklearn.base import BaseEstimator

#: scikit-learn 1.6 has tags as objects, and a function in place of ``_validate_data``
HAS_TAG_OBJECTS = hasattr(utils, "ClassifierTags")
#: argument of scikit-learn's checks of arrays by which NaN and infinity pass
ANY_NUMBER: dict[str, Any] = (
    {"ensure_all_finite": False} if HAS_TAG_OBJECTS else {"force_all_finite": False}
)


def check_array(array: Any, **checks: Any) -> np.ndarray:
    """scikit-learn's ``check_array``, which lets NaN and infinity pass."""
    return np.asarray(utils.check_array(array, **ANY_NUMBER, **checks))


def validate_data(estimator: Any, X: Any, **checks: Any) -> np.ndarray:
    """scikit-learn's ``validate_data`` of inputs alone; NaN and infinity pass."""
    checks |= ANY_NUMBER
    if not HAS_TAG_OBJECTS:
        return np.asarray(estimator._validate_data(X, **checks))
    from sklearn.utils.validation import validate_data

    return np.asarray(validate_data(estimator, X, **checks))


class TaskTags(BaseEstimator):  # type: ignore[misc]
    """Tags of an estimator whose ``_task`` says what it learns.

    A target is required, and labels are of two classes.

    """

    _task: Any

    def __sklearn_tags__(self) -> Any:
        """From scikit-learn 1.6 on."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self._task == "classification":
            tags.estimator_type = "classifier"
            tags.classifier_tags = utils.ClassifierTags(multi_class=False)
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = utils.RegressorTags()
        return tags

    def _more_tags(self) -> dict[str, bool]:
        """In scikit-learn 1.5."""
        return {"requires_y": True, "binary_only": self._task == "classification"}

    @property
    def _estimator_type(self) -> Literal["classifier", "regressor"]:
        """In scikit-learn 1.5, whose ``is_classifier`` reads it."""
        return "classifier" if self._task == "classification" else "regressor"
