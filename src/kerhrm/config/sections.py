"""Building blocks of the configuration's models."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0, le=1)]
NonEmpty = Field(min_length=1)


class Section(BaseModel):
    """A block of the configuration; refuses keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True)
