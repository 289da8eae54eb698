"""What regression with selection bias may be told."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from kerhrm.sections import Count, Finite, Number, Section, Some, option


def _beyond_one(r: float) -> float:
    if not abs(r) > 1:
        raise ValueError("a selection bias needs |r| > 1")
    return r


Bias = Annotated[Finite, AfterValidator(_beyond_one)]


class RegressionData(Section):
    """Regression with selection bias (paper, section 5.1 and appendix)."""

    generator: Literal["regression"] = Field(description="this data set")
    r: Bias = option(1.5, "selection bias of the first training environment")
    r_second: Bias = option(-1.1, "selection bias of the second one")
    test_r: Some[Bias] = option(
        [-2.9, -2.7, -2.5, -2.3, -2.1, -1.9], "selection bias of each test environment"
    )
    scenario: Annotated[Literal[1, 2], Number] = option(2, "1: H = I; 2: H orthogonal")
    scramble: Literal["fixed", "per_seed"] = option(
        "fixed", "H of scenario 2: one for all seeds, or one for each"
    )
    constants: Literal["released", "paper"] = option(
        "released", "theta_s and the noise of Y and V: the released code's or the paper's"
    )
    n_train: tuple[Count, Count] = option((1000, 100), "training points of the two environments")
    n_validation: Annotated[int, Field(ge=2), Number] = option(
        550, "validation points, split as the training points are"
    )
    n_test: Count = option(1000, "points of each test environment")
    beta: Finite = option(5.0, "weight of S_1 S_2 S_3 in Y")
    n_s: Annotated[int, Field(ge=3), Number] = option(5, "dimension of S")
    n_v: Count = option(5, "dimension of V")

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return sum(self.n_train)
