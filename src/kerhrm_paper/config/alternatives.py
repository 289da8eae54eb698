"""Which cells does an alternative of ``choices.yaml`` put in the place of a table's?"""

from collections.abc import Iterator

from kerhrm_paper.config.files import Key
from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.schema import Alternative, Table
from kerhrm_paper.config.spelling import base_of, spell

Measured = Iterator[tuple[Key, Alternative]]  #: alternatives with their keys


class Alternatives:
    """The measured alternatives, and the cells that they change.

    Parameters
    ----------
    resolver : Resolver
        What names stand for.
    """

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.sources = resolver.sources
        self.whole = resolver.whole

    def measured_on(self, base: str) -> Measured:
        """Alternatives that are measured on a data set."""
        choices = self.whole.choices
        for name, choice in choices.items():
            for number, alternative in enumerate(choice.alternatives):
                if base in alternative.places:
                    key = ("choices", name, "alternatives", number)
                    yield key, alternative

    def changed_learner(self, key: Key, name: str, learners: list[str]) -> str:
        """A table's learner of the same base, with the options of an alternative."""
        resolver = self.resolver
        at = (*key, "learner")
        with self.sources.placing(at, name):
            base, changed = resolver.schemas.parse_learner(name)
        for learner in learners:
            if base_of(learner) == base:
                named = resolver.schemas.parse_learner(learner).options
                schema = resolver.schemas.learner_schema(base)
                options = {**named, **changed}
                return spell(base, options, schema)
        return name

    def changed_data(self, key: Key, name: str, data: str) -> str:
        """Data of a table with the options of an alternative."""
        resolver = self.resolver
        at = (*key, "data")
        with self.sources.placing(at, name):
            base, changed = resolver.schemas.parse_data(name)
        named = resolver.schemas.parse_data(data).options
        schema = resolver.schemas.data_schema(base)
        options = {**named, **changed}
        return spell(base, options, schema)

    def added_learners(self, data: str, learners: list[str]) -> list[str]:
        """Learners that alternatives put in the place of those of a table."""
        added: list[str] = []
        base = base_of(data)
        for key, alternative in self.measured_on(base):
            name = alternative.learner
            if name is None:
                continue
            changed = self.changed_learner(key, name, learners)
            if changed not in learners and changed not in added:
                added.append(changed)
        return added

    def added_data(self, data: str) -> Iterator[str]:
        """Data that alternatives put in the place of a table's."""
        base = base_of(data)
        for key, alternative in self.measured_on(base):
            name = alternative.data
            if name is None:
                continue
            changed = self.changed_data(key, name, data)
            at = (*key, "data")
            with self.sources.placing(at, changed):
                self.resolver.data(changed)
            yield changed

    def check_choices(self, name: str, table: Table) -> None:
        """Refuse choices of a table on whose data no alternative is measured.

        What a run notes of its configuration has no alternatives at all.
        """
        first_data, *_ = table.data
        base = base_of(first_data)
        is_measured = any(self.measured_on(base))
        if self.whole.choices and not is_measured:
            raise self.sources.error(
                ("tables", name, "choices"),
                f"no alternative of choices.yaml is measured on {base}",
                "delete choices, or set it to []",
            )
