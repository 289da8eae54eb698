"""Options of later methods that infer groups, KerHRM's peers: defaults and ranges."""

from typing import Annotated, Literal

from pydantic import Field

from kerhrm.methods.options import (
    EVALUATE_EVERY,
    LOSS,
    STOPPING,
    GroupDROOptions,
    PointLoss,
)
from kerhrm.options import (
    AtLeastOne,
    Count,
    NonNegative,
    NotBool,
    Options,
    PositiveFloat,
    Values,
    option,
)

Balance = Literal["reweight", "subsample"]
GroupsBy = Literal["environments_and_labels", "environments", "labels"]
#: of what is cut in two, neither part empty
Share = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False), NotBool]
Half = Annotated[float, Field(gt=0, le=0.5, allow_inf_nan=False), NotBool]
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
    weight_decay: NonNegative = option(5e-5, DECAY)
    evaluate_every: Count | None = option(EVALUATE_EVERY, STOPPING)


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
    evaluate_every: Count | None = option(EVALUATE_EVERY, STOPPING)


class XRMOptions(GroupDROOptions):
    """Two networks' mistakes on each other's points, then GroupDRO."""

    loss: PointLoss = option("logistic", LOSS)
    twin_steps: Count = option(200, "of Adam on both networks, on all points")
    twin_rate: PositiveFloat = option(1e-3, "Adam's, of both networks")


class EVaLSOptions(Options):
    """ERM, then its last layer on extreme losses; inferred environments validate."""

    share: Share = option(0.2, "of the training points that retrain the last layer")
    selected: Values[Half] = option(
        [0.1, 0.25, 0.5], "of the rarer label's points, those with extreme losses"
    )
    l1: Values[PositiveFloat] = option(
        [0.003, 0.01, 0.03, 0.1], "lambda of the last layer's sum of absolute values"
    )
    steps: Count = option(200, "of Adam, for ERM")
    learning_rate: PositiveFloat = option(1e-3, "Adam's")
    evaluate_every: Count | None = option(EVALUATE_EVERY, STOPPING)
    inference_steps: Count = option(1000, "of Adam on the soft assignment")
    inference_rate: PositiveFloat = option(1e-2, "learning rate of the inference")


class EDNILOptions(Options):
    """A network with several heads infers environments, and IRMv1 learns on them."""

    n_environments: Count = option(5, "K, heads of the network that infers")
    rounds: Count = option(5, "T, of inference and invariant learning in turn")
    reference_steps: Count = option(500, "of ERM, for the shared layers and one head")
    inference_steps: Count = option(100, "of Adam on the environments, in each round")
    temperature: PositiveFloat = option(0.2, "tau, of the environments' probabilities")
    label_weight: NonNegative = option(3.0, "beta, against environments like the label")
    invariance_weight: NonNegative = option(
        5.0, "gamma, of the variance of the invariant losses, in the last round"
    )
    balance_limit: AtLeastOne = option(
        2.0, "how often a point of a small environment counts at most"
    )
    penalty_weight: NonNegative = option(
        100.0, "of the squared scale-gradients, after the first round"
    )
    steps: Count = option(100, "of Adam on IRMv1, in each round")
    learning_rate: PositiveFloat = option(5e-4, "Adam's, of both networks")
    weight_decay: NonNegative = option(1e-3, DECAY)
    evaluate_every: Count | None = option(
        EVALUATE_EVERY, STOPPING + "; in the last round"
    )
