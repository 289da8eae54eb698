"""Which options do the data of a name have?

``config/README.md`` has the order in which places win (Precedence).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm.features.options import FeatureOptions
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import Options
from kerhrm.plugins import origin
from kerhrm_paper.config.cells import DataCell
from kerhrm_paper.config.files import Key, Sources
from kerhrm_paper.config.layers import Layers, changes_at
from kerhrm_paper.config.options import Origins, Places, dump, entry_of, origins
from kerhrm_paper.config.schemas import DATA_OPTIONS, Schemas
from kerhrm_paper.config.seeds import seeds_of
from kerhrm_paper.config.spelling import Named, tree
from kerhrm_paper.config.strict_yaml import Tree
from kerhrm_paper.config.values import spell_value
from kerhrm_paper.data.generator import Generator
from kerhrm_paper.data.registry import DATA_SETS, RAW

#: parts of data that have options, each with a class of its own
PARTS = ("options", "network", "features")
ByPart = dict[str, Places]  #: places of the options of each part


class DataCells:
    """The data of every name that is asked for.

    Parameters
    ----------
    schemas : Schemas
        Which names there are.
    layers : Layers
        What gives options.
    """

    def __init__(self, schemas: Schemas, layers: Layers) -> None:
        self.schemas = schemas
        self.sources = schemas.sources
        self.whole = schemas.whole
        self.layers = layers
        self._cells: dict[str, DataCell] = {}
        self._values: dict[str, Tree] = {}

    def cell(self, name: str) -> DataCell:
        """The data of a name.

        Raises KerhrmError if it is none, or its options do not fit.
        """
        if name not in self._cells:
            cell = self._resolved(name)
            self._cells[name] = cell
        return self._cells[name]

    def _resolved(self, name: str) -> DataCell:
        base, named = self.schemas.parse_data(name)
        generator_name = self.whole.data[base].generator
        generator = DATA_SETS[generator_name]
        places = self.places(name)
        values = self._dumped(base, places)
        network = NetworkOptions(**values["network"])
        features = FeatureOptions(**values["features"])
        _check_named_widths(name, named, network)
        options: Any = generator.options(**values["options"])
        self._check_network(base)
        try:
            n_points = generator.n_points(options)
        except KerhrmError as error:
            package = origin(DATA_SETS.group, generator_name)
            problem = f"{name}: {package}: {error.problem}"
            raise KerhrmError(problem, "name other options, or correct it") from error
        return DataCell(
            name=name,
            base=base,
            generator=generator_name,
            task=generator.task,
            raw=generator.raw,
            options=options,
            n_points=n_points,
            network=network,
            features=features,
            seeds=seeds_of(self.schemas, name),
            entries=_functions(generator),
        )

    # --- options ---------------------------------------------------------------------

    def origins(self, name: str) -> dict[str, Origins]:
        """Where each option of data stands that is no default, by part."""
        places = self.places(name)
        by_part = {}
        for part in PARTS:
            by_part[part] = origins(places[part])
        return by_part

    def places(self, name: str) -> ByPart:
        """Options of every part of data, each with where it stands.

        The conditions of ``at`` are met by the values that hold without any ``at``.
        """
        base, _ = self.schemas.parse_data(name)
        unconditional = self._places(name, {})
        dumped = self._dumped(base, unconditional)
        return self._places(name, _by_key(dumped))

    def _places(self, name: str, values: Tree) -> ByPart:
        """Options of every part of data, where ``at`` sees some values, by key."""
        base, named = self.schemas.parse_data(name)
        entries = list(self._entries(base, values))
        by_part = {}
        for part in PARTS:
            places: Places = []
            for at, entry in entries:
                key = (*at, part)
                options = entry.get(part) or {}
                places.append((key, options))
            options = _of_part(part, named)
            places.append((name, options))
            by_part[part] = places
        return by_part

    def _entries(self, base: str, values: Tree) -> Iterator[tuple[Key, Tree]]:
        """What files give data, with its key, as far as the values meet its condition.

        Without any values no condition is met.
        """
        conditions = self.whole.data[base].at
        key: Key = ("data", base)
        entries = self.layers.entries("data", base)
        for entry in entries:
            yield key, entry
            for condition, change in changes_at(entry, conditions):
                if values and self._fits(condition, base, values):
                    place = (*key, "at", condition)
                    yield place, change

    def _dumped(self, base: str, places: ByPart) -> dict[str, Tree]:
        """Options of every part of data, with their defaults."""
        data = self.whole.data[base]
        generator = DATA_SETS[data.generator]
        return {
            "options": dump(
                self.sources,
                generator.options,
                places["options"],
            ),
            "network": dump(
                self.sources,
                NetworkOptions,
                places["network"],
                prefix="network.",
            ),
            "features": dump(
                self.sources,
                FeatureOptions,
                places["features"],
                prefix="features.",
            ),
        }

    def meets(self, data: DataCell, condition: str) -> bool:
        """Whether data meet a condition of ``at``."""
        if data.name not in self._values:
            values = values_by_key(data)
            self._values[data.name] = values
        return self._fits(
            condition,
            base=data.base,
            values=self._values[data.name],
        )

    def _fits(self, condition: str, base: str, values: Tree) -> bool:
        """Whether data of a base with some values, by key, meet a condition."""
        wanted = self.schemas.parse_data(condition)
        if wanted.base != base:
            return False
        for option, value in wanted.options.items():
            wanted_text = spell_value(value)
            actual = values.get(option)
            actual_text = spell_value(actual)
            if actual_text != wanted_text:
                return False
        return True

    def _check_network(self, base: str) -> None:
        """Refuse widths that come with a module, or after it, and have no effect.

        A preset's widths are those of all runs of its size, and a module may replace
        them.
        """
        key = ("data", base, "network")
        module = None
        idle = False
        layers = self.sources.layers
        for number, layer in enumerate(layers):
            file = Sources([layer])
            _, _, network = file.find(key)
            if not isinstance(network, Mapping):
                continue
            if "module" in network:
                module = network["module"]
                idle = False
            if "widths" in network:
                is_preset = number == self.sources.preset_at
                idle = idle or "module" in network or not is_preset
        if module is not None and idle:
            raise self.sources.error(
                (*key, "widths"),
                f"the module {module} has widths of its own",
                "leave widths out, or set module: null",
            )


def _functions(generator: Generator) -> dict[str, str]:
    """``module:name`` of the functions and classes that draw data."""
    entries = {
        "generate": entry_of(generator.generate),
        "options": entry_of(generator.options),
    }
    if generator.raw:
        raw = RAW[generator.raw]
        entries["raw"] = entry_of(raw)
    return entries


def _check_named_widths(name: str, named: Named, network: NetworkOptions) -> None:
    """Refuse widths in a name of data whose network is a module."""
    module = network.module
    if "network.widths" in named and module is not None:
        problem = f"{name}: the module {module} has widths of its own"
        raise KerhrmError(problem, "leave network.widths out")


def values_by_key(data: DataCell) -> Tree:
    """Values of data by the key that a name gives them."""
    parts: dict[str, Options] = {
        "options": data.options,
        "network": data.network,
        "features": data.features,
    }
    dumped = {}
    for part, options in parts.items():
        dumped[part] = options.model_dump(mode="json")
    return _by_key(dumped)


def _by_key(parts: Mapping[str, Tree]) -> Tree:
    """Options of all parts by the key that a name gives them."""
    values = dict(dotted(parts["options"]))
    for part in ("network", "features"):
        values |= dotted(parts[part], above=f"{part}.")
    return values


def dotted(options: Named, above: str = "") -> Iterator[tuple[str, Any]]:
    """Nested options by dotted key."""
    for name, value in options.items():
        key = f"{above}{name}"
        if isinstance(value, Mapping):
            yield from dotted(value, above=f"{key}.")
        else:
            yield key, value


def _of_part(part: str, named: Named) -> Tree:
    """Options in a name of data that are of one part of them."""
    options = tree(named)
    if part != "options":
        return options.get(part, {})
    for other in DATA_OPTIONS:
        options.pop(other, None)
    return options
