"""What Colored MNIST may be told."""

from typing import Literal

from pydantic import Field

from kerhrm.sections import Count, Probability, Section


class ColoredMnistData(Section):
    """Colored MNIST (paper, section 5.1)."""

    generator: Literal["colored_mnist"] = Field(description="this data set")
    label_noise: Probability = Field(0.2, description="P(label is wrong)")
    train_flip: tuple[Probability, Probability] = Field(
        (0.1, 0.2), description="P(colour contradicts the noisy label), by training environment"
    )
    test_flip: Probability = Field(0.9, description="likewise in the test environment")
    side: Literal[14, 28] = Field(14, description="pixels a side; two colour channels")
    n_per_environment: Count = Field(2500, description="training images of each environment")
    n_validation_per_environment: Count = Field(1000, description="likewise for validation")
    n_test: Count = Field(2500, description="test images")

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return 2 * self.n_per_environment
