"""What the house prices may be told."""

from typing import Literal, Self

from pydantic import Field, model_validator

from kerhrm.sections import PositiveFloat, Section, option


class HousesData(Section):
    """House prices of King County (paper, section 5.2)."""

    generator: Literal["houses"] = Field(description="this data set")
    train_fraction: PositiveFloat = option(0.7, "share of the first period that is for training")
    validation_fraction: PositiveFloat = option(
        0.15, "share for validation; the rest of the period is test data"
    )
    scale: Literal["train", "all"] = option("train", "houses on which predictors are standardised")
    # "all", as in other code of the authors' group, tells methods the mean of the test periods:
    # a regularised one shrinks towards the zero.  Errors are in units of all houses either way.
    price_scale: Literal["train", "all"] = option(
        "train", "houses that give the unit and the zero of the price in training"
    )
    clip: Literal["none", "train"] = option(
        "none", "train: predictors are moved into their range in training"
    )
    price: Literal["linear", "log"] = option(
        "linear", "log: its logarithm, with errors in its own unit"
    )

    @property
    def n_points(self) -> int:
        """Number of training points: of the 1451 houses of the first period."""
        return round(self.train_fraction * 1451)

    @property
    def n_inputs(self) -> int:
        """Number of predictors."""
        return 17

    @model_validator(mode="after")
    def _leaves_some(self) -> Self:
        if self.train_fraction + self.validation_fraction >= 1:
            raise ValueError("train_fraction + validation_fraction must stay below 1")
        return self
