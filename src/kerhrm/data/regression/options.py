"""What regression with selection bias may be told."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from kerhrm.sections import Count, Finite, Number, PositiveFloat, Section, Some, misfit, option


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
    theta_s: Some[PositiveFloat] | None = option(
        None, "|theta_s|, repeated as n_s asks, with alternating signs; null: as constants says"
    )
    noise: PositiveFloat | None = option(
        None, "standard deviation of Y's noise; null: as constants says"
    )
    tau: PositiveFloat | None = option(None, "standard deviation of V; null: as constants says")
    selected_by: Count = option(1, "V_b: how many variables, the last ones of V, select together")
    selected_on: Literal["label", "structural"] = option(
        "label", "what they have to be near to: Y with its noise, or f(S)"
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

    @property
    def n_inputs(self) -> int:
        """Number of predictors."""
        return self.n_s + self.n_v

    @model_validator(mode="after")
    def _v_b_is_in_v(self) -> Self:
        if self.selected_by > self.n_v:
            raise misfit(f"V has {self.n_v} variables; lower it or raise n_v", "selected_by")
        return self
