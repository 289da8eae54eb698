"""What KerHRM's steps may be told."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from kerhrm.algorithm.penalties import PENALTIES
from kerhrm.sections import Count, NonEmpty, NonNegative, PositiveFloat, Probability, Section


class Clustering(Section):
    """M_c: the mixture of kernel ridge regressions."""

    clusters: Count = Field(default=2, description="K, an upper bound")
    restarts: Count = Field(default=10, description="random starts per seed and per (k, ridge)")
    ridge: Annotated[list[PositiveFloat], NonEmpty] = Field(
        default=[1e-3, 1e-2],
        description="of the centres, in units of the mean eigenvalue of Psi^T Psi / n; "
        "chosen by held-out likelihood",
    )
    sigma: PositiveFloat | None = Field(
        default=None,
        description="standard deviation of the residuals; null: estimated in each M step",
    )
    max_iterations: Count = Field(default=300, description="EM steps at most")
    tolerance: PositiveFloat = Field(
        default=1e-5, description="EM ends when its objective falls by less, nats per point"
    )
    max_label_information: Probability = Field(
        default=0.5, description="above: the split only repeats the label"
    )
    min_share: Probability = Field(
        default=0.02, description="below: an environment counts as empty and is dropped"
    )


class Invariance(Section):
    """M_p: the invariant direction."""

    alpha: Annotated[list[NonNegative], NonEmpty] = Field(
        default=[0.0, 0.1, 1.0, 10.0], description="weights of the penalty to try, in its unit"
    )
    penalty: str = Field(
        default="gradient_variance",
        description="of what differs between environments",
        json_schema_extra={"enum": [*PENALTIES]},
    )
    weights: Literal["uniform", "shares"] = Field(
        default="uniform", description="of the environments: all alike, or by their points"
    )
    ridge: NonNegative = Field(
        default=1e-6, description="in units of the mean eigenvalue of Psi^T Psi / n"
    )

    @field_validator("penalty")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in PENALTIES:
            raise ValueError(f"no penalty is called '{name}'; known are: {', '.join(PENALTIES)}")
        return name


class IGD(Section):
    """Step 3, invariant gradient descent of the network."""

    penalty: Annotated[list[NonNegative], NonEmpty] = Field(
        default=[10.0, 100.0, 1000.0], description="lambda, weights of the cosine to try"
    )
    cosine: Literal["signed", "absolute"] = Field(
        default="signed", description="absolute: as printed in the paper"
    )
    steps: Count = Field(default=150, description="of Adam, full batch")
    learning_rate: PositiveFloat = Field(default=1e-3, description="Adam's")


class KerHRM(Section):
    """The described algorithm."""

    k: Annotated[list[Count], NonEmpty] = Field(
        default=[10, 15, 20, 25], description="reduced dimensions to try"
    )
    iterations: Count = Field(default=3, description="T; KerHRM-s is iteration 1")
    clustering: Clustering = Field(default=Clustering(), description="M_c")
    invariance: Invariance = Field(default=Invariance(), description="M_p")
    network: IGD = Field(default=IGD(), description="step 3")
