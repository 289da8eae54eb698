"""What the ``data`` section of a setting may say, one model per generator."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, PositiveInt, model_validator

from kerhrm.config.sections import NonEmpty, PositiveFloat, Probability, Section


class ClassificationData(Section):
    """Classification with spurious correlation (paper, section 5.1)."""

    generator: Literal["classification"]
    r1: Probability = 0.9  #: bias rate of the first training environment
    r2: Probability = 0.7  #: bias rate of the second one
    r_test: Probability = 0.1
    d: PositiveInt = 5  #: dimension of S and of V
    sigma_s: PositiveFloat = 3.0
    sigma_v: PositiveFloat = 0.3
    noise_unit: Literal["std", "variance"] = "std"  #: released constants: std; paper: variance
    scramble: Literal["fixed", "per_seed", "identity"] = "fixed"  #: the orthogonal matrix H
    n_train_per_environment: PositiveInt = 1000
    n_validation_per_environment: PositiveInt = 500
    n_test: PositiveInt = 1000

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return 2 * self.n_train_per_environment


class ColoredMnistData(Section):
    """Colored MNIST (paper, section 5.1)."""

    generator: Literal["colored_mnist"]
    label_noise: Probability = 0.2
    train_flip: tuple[Probability, Probability] = (0.1, 0.2)  #: P(colour != noisy label)
    test_flip: Probability = 0.9
    side: Literal[14, 28] = 14  #: pixels a side; two colour channels
    n_per_environment: PositiveInt = 2500
    n_validation_per_environment: PositiveInt = 1000
    n_test: PositiveInt = 2500

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return 2 * self.n_per_environment


def _beyond_one(r: float) -> float:
    if not abs(r) > 1:
        raise ValueError("a selection bias needs |r| > 1")
    return r


Bias = Annotated[float, Field(allow_inf_nan=False), AfterValidator(_beyond_one)]


class RegressionData(Section):
    """Regression with selection bias (paper, section 5.1 and appendix)."""

    generator: Literal["regression"]
    r: Bias = 1.5  #: selection bias of the first training environment
    r_second: Bias = -1.1  #: of the second one
    test_r: Annotated[list[Bias], NonEmpty] = [-2.9, -2.7, -2.5, -2.3, -2.1, -1.9]
    scenario: Literal[1, 2] = 2  #: 1: H = I; 2: H orthogonal
    scramble: Literal["fixed", "per_seed"] = "fixed"
    constants: Literal["released", "paper"] = "released"
    n_train: tuple[PositiveInt, PositiveInt] = (1000, 100)  #: points of the two environments
    n_validation: Annotated[int, Field(ge=2)] = 550
    n_test: PositiveInt = 1000  #: per test environment
    beta: float = 5.0
    n_s: Annotated[int, Field(ge=3)] = 5
    n_v: PositiveInt = 5

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return sum(self.n_train)


class HousesData(Section):
    """House prices of King County (paper, section 5.2)."""

    generator: Literal["houses"]
    train_fraction: PositiveFloat = 0.7  #: of the first period
    validation_fraction: PositiveFloat = 0.15  #: of the first period; the rest of it is test data
    scale: Literal["train", "all"] = "train"  #: what predictors are standardised on
    price_scale: Literal["train", "all"] = "all"  #: unit and zero of the price
    clip: Literal["none", "train"] = "none"  #: train: predictors to their range in training
    price: Literal["linear", "log"] = "linear"  #: log: its logarithm, errors in its own unit

    @property
    def n_points(self) -> int:
        """Number of training points: of the 1451 houses of the first period."""
        return round(self.train_fraction * 1451)

    @model_validator(mode="after")
    def _leaves_some(self) -> Self:
        if self.train_fraction + self.validation_fraction >= 1:
            raise ValueError("train_fraction + validation_fraction must stay below 1")
        return self


Data = Annotated[
    ClassificationData | ColoredMnistData | RegressionData | HousesData,
    Field(discriminator="generator"),
]
