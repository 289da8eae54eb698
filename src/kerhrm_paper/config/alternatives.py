"""Which cells does an alternative of ``choices.yaml`` put in the place of a table's?"""

from collections.abc import Iterator

from kerhrm_paper.config.files import Key
from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.schema import Alternative, Table
from kerhrm_paper.config.spelling import base_of, spell


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

    def measured_on(self, base: str) -> Iterator[tuple[Key, Alternative]]:
        """Measured alternatives on a data set, each with its key."""
        for name, choice in self.whole.choices.items():
            for number, alternative in enumerate(choice.alternatives):
                if base in alternative.places:
                    yield ("choices", name, "alternatives", number), alternative

    def changed_learner(self, key: Key, name: str, learners: list[str]) -> str:
        """A table's learner of the same base, with the options of an alternative."""
        resolver = self.resolver
        with self.sources.naming((*key, "learner"), name):
            base, changed = resolver.parse_learner(name)
        for learner in learners:
            if base_of(learner) == base:
                _, named = resolver.parse_learner(learner)
                return spell(base, named | changed, resolver.learner_schema(base))
        return name

    def changed_data(self, key: Key, name: str, data: str) -> str:
        """Data of a table with the options of an alternative."""
        resolver = self.resolver
        with self.sources.naming((*key, "data"), name):
            base, changed = resolver.parse_data(name)
        _, named = resolver.parse_data(data)
        return spell(base, named | changed, resolver.data_schema(base))

    def added_learners(self, data: str, learners: list[str]) -> list[str]:
        """Learners that alternatives put in the place of those of a table."""
        added: list[str] = []
        for key, alternative in self.measured_on(base_of(data)):
            if alternative.learner is None:
                continue
            changed = self.changed_learner(key, alternative.learner, learners)
            if changed not in learners and changed not in added:
                added.append(changed)
        return added

    def added_data(self, data: str) -> Iterator[str]:
        """Data that alternatives put in the place of a table's."""
        for key, alternative in self.measured_on(base_of(data)):
            if alternative.data is None:
                continue
            changed = self.changed_data(key, alternative.data, data)
            with self.sources.naming((*key, "data"), changed):
                self.resolver.data(changed)
            yield changed

    def check_choices(self, name: str, table: Table) -> None:
        """Refuse choices of a table on whose data no alternative is measured.

        What a run notes of its configuration has no alternatives at all.
        """
        base = base_of(next(iter(table.data)))
        if not self.whole.choices or any(self.measured_on(base)):
            return
        raise self.sources.error(
            ("tables", name, "choices"),
            f"no alternative of choices.yaml is measured on {base}",
            "delete choices, or set it to []",
        )
