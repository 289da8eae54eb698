"""Models of ``choices.yaml``: what the paper leaves open, and other choices."""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from kerhrm.options import Options, Some, option
from kerhrm.paper.config.fields import (
    Criterion,
    DataName,
    Differing,
    LearnerName,
    Title,
    Values,
)


class Alternative(Options):
    """Another choice.

    Other options of a learner or of the data, or another row of the table.
    """

    to: str = Field(description="the other choice, in words")
    where: Annotated[Some[DataName], Differing] = Field(
        description="data sets on which it is measured"
    )
    learner: LearnerName = option("kerhrm", "learner whose options change")
    set: Values = option({}, "its options that change")
    data: Values = option(
        {}, "options of the data that change instead; a setting of its own"
    )
    network: Values = option({}, "options of the network that change instead")
    mark: str = option(
        "", "shown behind the setting's name; alternatives with a title need none"
    )
    only: Title | None = option(
        None, "title of the only row that can change; null: all"
    )
    title: Title | None = option(
        None, "title of a row that stands in the table already"
    )
    instead: Title | None = option(None, "title of the row that takes its place")
    selection: Criterion | None = option(
        None, "criterion that takes the place of the row's own"
    )

    @property
    def name(self) -> str:
        """Mark of the changed setting, or the row and what takes its place."""
        return self.mark or f"{self.title}: {self.instead or self.selection}"

    @property
    def learner_name(self) -> str:
        """Name of the learner whose options change.

        ``kerhrm_T_1``, ``eiil_loss_logistic``.
        """
        mark = re.sub("[=,]", "_", self.mark)
        return mark if mark.startswith(f"{self.learner}_") else f"{self.learner}_{mark}"

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if sum(map(bool, (self.set, self.data, self.network, self.title))) != 1:
            raise ValueError("give one of set, data, network and title")
        if bool(self.title) == bool(self.mark):
            raise ValueError("give a mark, or a title")
        if self.title and bool(self.instead) == bool(self.selection):
            raise ValueError("give instead or selection")
        return self


class Choice(Options):
    """What the paper leaves open or says in two ways, and the measured alternatives."""

    title: str = Field(description="the choice")
    paper: Some[dict[Literal["words", "where"], str]] = Field(
        description="what the paper says"
    )
    authors_code: str = Field(description="what the authors' code does")
    default: str = Field(description="what is done here")
    because: str = Field(description="why")
    alternatives: list[Alternative] = option([], "whose effect is measured")
    unmeasured: str | None = option(None, "why there are none")
