"""Everything that scikit-learn asks of an estimator, of every one; nothing is expected to fail."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from kerhrm import (
    EIIL,
    ERM,
    HRM,
    IRM,
    ChiSquareDRO,
    KerHRM,
    KerHRMClassifier,
    KerHRMRegressor,
)
from kerhrm.algorithm.options import IGD, Heterogeneity

pytestmark = pytest.mark.filterwarnings(
    "ignore::kerhrm.estimators.notices.KerhrmWarning", "ignore::FutureWarning"
)

SMALL: dict[str, Any] = {"n_iterations": 1, "n_init": 2, "ridge": 0.01, "network": (32,)}
QUICK: dict[str, Any] = {"network": (16,), "learning_rate": 0.03, "steps": 40}
TURNS: dict[str, Any] = {"iterations": 1, "cluster_steps": 50, "gate_steps": 60, "gate_rate": 0.02}
SHORT = KerHRM(network=IGD(steps=30, learning_rate=0.02, check_every=None), guard=None)
TESTED = KerHRM(guard=Heterogeneity(folds=2))
ESTIMATORS = [
    KerHRMClassifier(k=3, **SMALL),
    KerHRMClassifier(k=3, **SMALL, predictor="network", cosine_weight=1.0, options=SHORT),
    KerHRMRegressor(k=3, **SMALL, options=TESTED),
    KerHRMRegressor(k=12, **SMALL, options=SHORT),
    *(
        baseline(task=task)
        for task in ("classification", "regression")
        for baseline in (
            lambda task: ERM(task=task, **QUICK),
            lambda task: ChiSquareDRO(task=task, **QUICK),
            lambda task: IRM(task=task, **QUICK, anneal=40),
            lambda task: EIIL(task=task, **QUICK, anneal=40, inference_steps=20),
            lambda task: HRM(task=task, **TURNS),
        )
    ),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_s_checks(estimator: Any, check: Any) -> None:
    check(estimator)
