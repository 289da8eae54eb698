"""What regression with selection bias may be told."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from kerhrm.sections import Count, Finite, Natural, NonEmpty, Section


def _beyond_one(r: float) -> float:
    if not abs(r) > 1:
        raise ValueError("a selection bias needs |r| > 1")
    return r


Bias = Annotated[Finite, AfterValidator(_beyond_one)]


class RegressionData(Section):
    """Regression with selection bias (paper, section 5.1 and appendix)."""

    generator: Literal["regression"] = Field(description="this data set")
    r: Bias = Field(1.5, description="selection bias of the first training environment")
    r_second: Bias = Field(-1.1, description="selection bias of the second one")
    test_r: Annotated[list[Bias], NonEmpty] = Field(
        [-2.9, -2.7, -2.5, -2.3, -2.1, -1.9], description="selection bias of each test environment"
    )
    scenario: Annotated[Count, Field(le=2)] = Field(2, description="1: H = I; 2: H orthogonal")
    scramble: Literal["fixed", "per_seed"] = Field(
        "fixed", description="H of scenario 2: one for all seeds, or one for each"
    )
    constants: Literal["released", "paper"] = Field(
        "released",
        description="theta_s and the noise of Y and V: the released code's or the paper's",
    )
    n_train: tuple[Count, Count] = Field(
        (1000, 100), description="training points of the two environments"
    )
    n_validation: Annotated[Natural, Field(ge=2)] = Field(
        550, description="validation points, split as the training points are"
    )
    n_test: Count = Field(1000, description="points of each test environment")
    beta: Finite = Field(5.0, description="weight of S_1 S_2 S_3 in Y")
    n_s: Annotated[Natural, Field(ge=3)] = Field(5, description="dimension of S")
    n_v: Count = Field(5, description="dimension of V")

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return sum(self.n_train)
