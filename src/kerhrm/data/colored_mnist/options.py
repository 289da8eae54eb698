"""What Colored MNIST may be told."""

from typing import Literal

from pydantic import Field

from kerhrm.sections import Count, Probability, Section, option


class ColoredMnistData(Section):
    """Colored MNIST (paper, section 5.1)."""

    generator: Literal["colored_mnist"] = Field(description="this data set")
    label_noise: Probability = option(0.2, "P(label is wrong)")
    train_flip: tuple[Probability, Probability] = option(
        (0.1, 0.2), "P(colour contradicts the label that it follows), by training environment"
    )
    test_flip: Probability = option(0.9, "likewise in the test environment")
    colour_of: Literal["noisy", "clean"] = option(
        "noisy", "the label that the colour follows: with its noise, or before it"
    )
    side: Literal[14, 28] = option(14, "pixels a side")
    shrink: Literal["subsample", "pool"] = option(
        "subsample", "from 28 to 14 pixels: every second one, or the means of four"
    )
    n_per_environment: Count = option(2500, "training images of each environment")
    n_validation_per_environment: Count = option(1000, "likewise for validation")
    n_test: Count = option(2500, "test images")

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return 2 * self.n_per_environment

    @property
    def n_inputs(self) -> int:
        """Number of predictors."""
        return 2 * self.side**2
