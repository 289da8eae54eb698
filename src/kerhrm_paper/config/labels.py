"""What do tables call data and options?"""

from collections import defaultdict
from collections.abc import Iterator

from pydantic import TypeAdapter, ValidationError

from kerhrm_paper.config.fields import nearest
from kerhrm_paper.config.files import Key
from kerhrm_paper.config.nameable import Nameable
from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.schema import Table
from kerhrm_paper.config.schemas import LEARNER_OPTIONS
from kerhrm_paper.config.spelling import Named
from kerhrm_paper.config.values import spell_value

#: options by key, each as often as a method or a data set declares it
Declared = dict[str, list[Nameable]]


class TableLabels:
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
        self.labels = dict(resolver.whole.labels)
        self.labels |= table.labels

    def of_data(self, name: str) -> str:
        """What the table calls data: its own label, else their options."""
        data_in_table = self.table.data
        data = data_in_table.get(name)
        if data is not None and data.label:
            return data.label
        base, named = self.resolver.schemas.parse_data(name)
        words = []
        if self.labels.get(base):
            words.append(self.labels[base])
        words += self._of_options(named)
        return ",".join(words) or base

    def of_setting(self, data: str, learner: str) -> str:
        """What the table calls data with a learner's options."""
        parsed = self.resolver.schemas.parse_learner(learner)
        named = parsed.options
        words = [self.of_data(data)]
        words += self._of_options(named)
        return ",".join(words)

    def _of_options(self, named: Named) -> Iterator[str]:
        """Options as the table shows them; those with an empty label are left out."""
        for option, value in named.items():
            if option in LEARNER_OPTIONS:
                continue
            spelled = spell_value(value)
            symbol = self.labels.get(option, option)
            default = f"{symbol}={spelled}" if symbol else ""
            label = self.labels.get(f"{option}={spelled}", default)
            if label:
                yield label


def check_labels(resolver: Resolver) -> None:
    """Refuse labels of options and data sets that are not there."""
    sources = resolver.sources
    options = _options(resolver)
    names = sources.names("data")
    names += sorted(options)
    for above, text in _labelled(resolver):
        key = (*above, text)
        option, equals, value = text.partition("=")
        if option not in names:
            problem = f"no option or data set is called '{text}'"
            hint = nearest(text, names)
            raise sources.error(key, problem, hint)
        if option in LEARNER_OPTIONS:
            problem = f"no setting shows {option}"
            hint = "leave it out; the column `selection` has the criterion"
            raise sources.error(key, problem, hint)
        declared = options.get(option, [])
        if equals and not _fits(value, declared):
            problem = f"no name has '{text}'"
            hint = "write the value as names do, k=10 or r2=0.7"
            raise sources.error(key, problem, hint)


def _fits(value: str, declared: list[Nameable]) -> bool:
    """Whether an option that several methods or data sets declare can have a value."""
    return any(_is_in_range(value, option) for option in declared)


def _is_in_range(value: str, option: Nameable) -> bool:
    """Whether an option can have a value that a name gives it."""
    if not option.fits(value):
        return False
    try:
        TypeAdapter(option.annotation).validate_python(option.read(value))
    except ValidationError:
        return False
    return True


def _labelled(resolver: Resolver) -> Iterator[tuple[Key, str]]:
    """Texts that have a label, each with the key above it."""
    whole = resolver.whole
    for text in whole.labels:
        yield ("labels",), text
    for name, table in whole.tables.items():
        key = ("tables", name, "labels")
        for text in table.labels:
            yield key, text


def _options(resolver: Resolver) -> Declared:
    """Options of all data sets and learners, by key."""
    schemas = []
    for name in resolver.whole.data:
        schema = resolver.schemas.data_schema(name)
        schemas.append(schema)
    for name in resolver.whole.learners:
        schema = resolver.schemas.learner_schema(name)
        schemas.append(schema)
    options: Declared = defaultdict(list)
    for schema in schemas:
        for key, option in schema.items():
            options[key].append(option)
    return options
