"""What do tables call data and options?"""

from collections.abc import Iterator, Mapping
from typing import Any

from kerhrm_paper.config.fields import nearest
from kerhrm_paper.config.files import Key
from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.schema import Table
from kerhrm_paper.config.spelling import Nameable, spell_value


class Labels:
    """The labels of the configuration and of one table, whose own go before.

    Parameters
    ----------
    resolver : Resolver
        What names stand for.
    table : Table
        The table.
    """

    def __init__(self, resolver: Resolver, table: Table) -> None:
        self.resolver = resolver
        self.table = table
        self.labels: dict[str, str] = resolver.whole.labels | table.labels

    def of_data(self, name: str) -> str:
        """What the table calls data: its own label, else their options."""
        data = self.table.data.get(name)
        if data is not None and data.label:
            return data.label
        base, named = self.resolver.parse_data(name)
        words = [self.labels.get(base, ""), *self._of_options(named)]
        return ",".join(filter(None, words)) or base

    def of_setting(self, data_label: str, learner: str) -> str:
        """What the table calls data with a learner's options."""
        _, named = self.resolver.parse_learner(learner)
        for option in ("select", "select_on"):  # which has a column of its own
            named.pop(option, None)
        return ",".join([data_label, *self._of_options(named)])

    def _of_options(self, named: Mapping[str, Any]) -> Iterator[str]:
        """Options as the table shows them; those with an empty label are left out."""
        for option, value in named.items():
            spelled = spell_value(value)
            symbol = self.labels.get(option, option)
            default = f"{symbol}={spelled}" if symbol else ""
            if label := self.labels.get(f"{option}={spelled}", default):
                yield label


def check_labels(resolver: Resolver) -> None:
    """Refuse labels of options and data sets that are not there."""
    sources = resolver.sources
    options = _options(resolver)
    names = [*sources.names("data"), *sorted(options)]
    for key, text in _labelled(resolver):
        option, equals, value = text.partition("=")
        if option not in names:
            problem = f"no option or data set is called '{text}'"
            raise sources.error((*key, text), problem, nearest(text, names))
        declared = options.get(option, [])
        if equals and not any(nameable.fits(value) for nameable in declared):
            problem = f"no name has '{text}'"
            hint = "write the value as names do, k=10 or r2=0.7"
            raise sources.error((*key, text), problem, hint)


def _labelled(resolver: Resolver) -> Iterator[tuple[Key, str]]:
    """Texts that have a label, each with the key above it."""
    whole = resolver.whole
    for text in whole.labels:
        yield ("labels",), text
    for name, table in whole.tables.items():
        for text in table.labels:
            yield ("tables", name, "labels"), text


def _options(resolver: Resolver) -> dict[str, list[Nameable]]:
    """Options of all data sets and learners, by key."""
    whole = resolver.whole
    schemas = [resolver.data_schema(name) for name in whole.data]
    schemas += [resolver.learner_schema(name) for name in whole.learners]
    options: dict[str, list[Nameable]] = {}
    for schema in schemas:
        for key, option in schema.items():
            options.setdefault(key, []).append(option)
    return options
