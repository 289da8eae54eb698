"""Options of later methods that infer groups, KerHRM's peers: defaults and ranges."""

from typing import Annotated, Literal

from pydantic import Field

from kerhrm.methods.options import LOSS, PointLoss
from kerhrm.options import (
    Count,
    NonNegative,
    NotBool,
    Options,
    PositiveFloat,
    option,
)

Balance = Literal["reweight", "subsample"]
GroupsBy = Literal["environments_and_labels", "environments", "labels"]
#: of what is cut in two, neither part empty
Share = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False), NotBool]
DECAY = "times the sum of squared weights joins the risk"


class BalancingOptions(Options):
    """Errors of a first network and labels make groups, which count equally."""

    identification_steps: Count = option(
        50, "of the network whose errors make groups, by ERM"
    )
    balance: Balance = option(
        "reweight", "or subsample: as many points of each group as of the smallest"
    )
    groups: GroupsBy = option(
        "environments_and_labels",
        "environments: errors alone; labels: neither errors nor attributes",
    )
    loss: PointLoss = option("logistic", LOSS)
    steps: Count = option(200, "of Adam, on all points of the balanced sample")
    learning_rate: PositiveFloat = option(1e-3, "Adam's, of both networks")
    weight_decay: NonNegative = option(1e-4, DECAY)


class AFROptions(Options):
    """ERM, then its last layer again, on points that ERM predicts poorly."""

    share: Share = option(0.2, "of the training points that retrain the last layer")
    gamma: NonNegative = option(4.0, "how much more poorly predicted points count")
    penalty_weight: PositiveFloat = option(
        0.1, "lambda of the squared distance from ERM's last layer"
    )
    loss: PointLoss = option("logistic", LOSS + "; squared: in closed form")
    steps: Count = option(200, "of Adam, for ERM")
    learning_rate: PositiveFloat = option(1e-3, "Adam's")
