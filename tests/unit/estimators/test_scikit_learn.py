"""Everything that scikit-learn asks of an estimator, once a class.

A weight of two is not quite a row twice: validation rows are drawn, and leave-one-out
leaves out one row.
"""

from inspect import signature
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from kerhrm import (
    AFR,
    EDNIL,
    EIIL,
    ERM,
    HRM,
    IRM,
    JTT,
    XRM,
    ChiSquareDRO,
    DataBalancing,
    EstimatorOptions,
    EVaLS,
    GroupDRO,
    KerHRMClassifier,
    KerHRMRegressor,
    TangentRidge,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::kerhrm.estimators.KerhrmWarning", "ignore::FutureWarning"
)

SMALL: dict[str, Any] = {
    "n_iterations": 1,
    "n_init": 2,
    "network": (32,),
}
RIDGE: dict[str, Any] = {"clustering_ridge": 0.01}
TRAINING: dict[str, Any] = {
    "cosine_weight": 1.0,
    "steps": 30,
    "learning_rate": 0.02,
    "check_every": None,
}
QUICK: dict[str, Any] = {
    "network": (16,),
    "learning_rate": 0.03,
    "steps": 40,
}
ESTIMATORS = [
    KerHRMClassifier(
        k=3,
        **SMALL,
        predictor="network",
        if_not_better="fit",
        options=RIDGE | TRAINING,
    ),
    KerHRMRegressor(
        k=12,
        **SMALL,
        pretest=False,
        options=EstimatorOptions(**RIDGE),
    ),
    TangentRidge(network=(32,)),
    ERM(**QUICK),
    ChiSquareDRO(task="regression", **QUICK),
    IRM(**QUICK, anneal=40),
    GroupDRO(task="regression", **QUICK),
    JTT(**QUICK),
    DataBalancing(**QUICK),
    AFR(**QUICK),
    XRM(**QUICK, twin_steps=40, twin_rate=0.03),
    EVaLS(**QUICK, inference_steps=20, selected=[0.25], l1=[0.03]),
    EDNIL(**QUICK, n_environments=2, rounds=2, reference_steps=40),
    EIIL(task="regression", **QUICK, anneal=40, inference_steps=20),
    HRM(n_iterations=1, cluster_steps=50, gate_steps=60, gate_rate=0.02),
]


def weighted(estimator: Any) -> dict[str, str]:
    name = "check_sample_weight_equivalence_on_dense_data"
    return (
        {name: "rows are drawn"}
        if "sample_weight" in signature(estimator.fit).parameters
        else {}
    )


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_s_checks(estimator: Any, check: Any) -> None:
    check(estimator)
