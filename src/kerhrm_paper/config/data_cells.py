"""Which options and seeds do the data of a name have?

Later ones win: the generator's defaults, the files, what their ``at`` says, the preset
and its ``at``, the user and their ``at``, the name.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm.features.options import FeatureOptions
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import Options
from kerhrm_paper.config.cells import DataCell
from kerhrm_paper.config.files import Key, Sources, Tree
from kerhrm_paper.config.layers import Layers, changes_at
from kerhrm_paper.config.options import Places, dump, entry_of, explained
from kerhrm_paper.config.schema import FIRST_SEARCHED
from kerhrm_paper.config.schemas import RESERVED, Schemas
from kerhrm_paper.config.spelling import spell_value, tree
from kerhrm_paper.data.registry import DATA_SETS, RAW, DataSet
from kerhrm_paper.runs.replication import Seeds

PARTS = ("options", "network", "features")  #: of data, each with a class of options


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
        self._values_by_key: dict[str, dict[str, Any]] = {}

    def cell(self, name: str) -> DataCell:
        """The data of a name.

        Raises KerhrmError if it is none, or its options do not fit.
        """
        if name not in self._cells:
            self._cells[name] = self._resolved(name)
        return self._cells[name]

    def _resolved(self, name: str) -> DataCell:
        base, named = self.schemas.parse_data(name)
        generator_name = self.whole.data[base].generator
        generator = DATA_SETS[generator_name]
        values = self._values(base, self.places(name))
        _check_named_widths(name, named, values["network"])
        options: Any = generator.options(**values["options"])
        self._check_network(base)
        return DataCell(
            name=name,
            base=base,
            generator=generator_name,
            task=generator.task,
            raw=generator.raw,
            options=options,
            n_points=options.n_points,
            network=NetworkOptions(**values["network"]),
            features=FeatureOptions(**values["features"]),
            seeds=self._seeds(base, name, named),
            entries=_entries(generator),
        )

    # --- options ---------------------------------------------------------------------

    def explained(self, name: str) -> dict[str, dict[str, Key | str]]:
        """Where each option of data stands that is no default, by part."""
        places = self.places(name)
        return {part: explained(of_part) for part, of_part in places.items()}

    def places(self, name: str) -> dict[str, Places]:
        """Options of every part of data, each with where it stands.

        The conditions of ``at`` are met by the values that hold without any ``at``.
        """
        base, _ = self.schemas.parse_data(name)
        unconditional = {part: self._places(name, part, {}) for part in PARTS}
        values = _by_key(self._values(base, unconditional))
        return {part: self._places(name, part, values) for part in PARTS}

    def _places(self, name: str, part: str, values: Mapping[str, Any]) -> Places:
        """Options of a part of data, where ``at`` sees some values, by key."""
        base, named = self.schemas.parse_data(name)
        conditions = self.whole.data[base].at
        at: Key = ("data", base)
        places: Places = []
        for entry in self.layers.entries("data", base):
            places.append(((*at, part), entry.get(part) or {}))
            for condition, change in changes_at(entry, conditions):
                if values and self._fits(condition, base, values):
                    key = (*at, "at", condition, part)
                    places.append((key, change.get(part) or {}))
        places.append((name, _of_part(part, named)))
        return places

    def _values(self, base: str, places: Mapping[str, Places]) -> dict[str, Tree]:
        """Options of every part of data, with their defaults."""
        generator = DATA_SETS[self.whole.data[base].generator]
        kinds: dict[str, type[Options]] = {
            "options": generator.options,
            "network": NetworkOptions,
            "features": FeatureOptions,
        }
        values = {}
        for part, of_part in places.items():
            prefix = "" if part == "options" else f"{part}."
            values[part] = dump(self.sources, kinds[part], of_part, prefix)
        return values

    def meets(self, data: DataCell, condition: str) -> bool:
        """Whether data meet a condition of ``at``."""
        if data.name not in self._values_by_key:
            self._values_by_key[data.name] = _values_of(data)
        values = self._values_by_key[data.name]
        return self._fits(condition, data.base, values)

    def _fits(self, condition: str, base: str, values: Mapping[str, Any]) -> bool:
        """Whether data of a base with some values, by key, meet a condition."""
        wanted_base, wanted = self.schemas.parse_data(condition)
        if wanted_base != base:
            return False
        return all(
            spell_value(values.get(option)) == spell_value(value)
            for option, value in wanted.items()
        )

    def _check_network(self, base: str) -> None:
        """Refuse widths that come with a module, or after it, and have no effect.

        A preset's widths are those of all runs of its size, and a module may replace
        them.
        """
        key = ("data", base, "network")
        module, idle = None, False
        for number, layer in enumerate(self.sources.layers):
            _, _, network = Sources([layer]).find(key)
            if not isinstance(network, Mapping):
                continue
            if "module" in network:
                module, idle = network["module"], False
            if "widths" in network:
                is_preset = number == self.sources.preset_at
                idle = idle or "module" in network or not is_preset
        if module is not None and idle:
            raise self.sources.error(
                (*key, "widths"),
                f"the module {module} has widths of its own",
                "leave widths out, or set module: null",
            )

    # --- seeds -----------------------------------------------------------------------

    def _seeds(self, base: str, name: str, named: Mapping[str, Any]) -> Seeds:
        """Seeds of data: as many as any learner on them has."""
        tuning = self.whole.data[base].tuning
        first = self.whole.seed_offset
        if self.whole.search and tuning:
            return Seeds.alike(tuning.seeds, FIRST_SEARCHED)
        if "crossed" in named:
            if "seeds" in named:
                problem = f"{name}: crossed says how many seeds there are"
                raise KerhrmError(problem, "leave seeds out")
            return Seeds.crossed(named["crossed"], first)
        if "seeds" in named:
            return Seeds.alike(named["seeds"], first)
        return Seeds.alike(self._most_seeds(base, name), first)

    def _most_seeds(self, base: str, name: str) -> int:
        """Replicates of data, or of that learner on them which has the most."""
        most = self.n_seeds(base, name, None)
        seeds = self.whole.data[base].seeds
        if isinstance(seeds, dict):
            for place, number in seeds.items():
                data, _, _ = place.partition("/")
                if data == name:
                    most = max(most, number)
        return most

    def n_seeds(self, base: str, data: str, learner: str | None) -> int:
        """Replicates of a cell: of its name, else of its data, else of the data set."""
        seeds = self.whole.data[base].seeds
        if isinstance(seeds, int):
            return seeds
        places = [data, base]
        if learner is not None:
            places.insert(0, f"{data}/{learner}")
        for place in places:
            if place in seeds:
                return seeds[place]
        raise self.sources.error(
            ("data", base, "seeds"), f"no number is for {data}", f"add {base}: NUMBER"
        )


def _entries(generator: DataSet) -> dict[str, str]:
    """``module:name`` of the functions and classes that draw data."""
    entries = {
        "generate": entry_of(generator.generate),
        "options": entry_of(generator.options),
    }
    if generator.raw:
        entries["raw"] = entry_of(RAW[generator.raw])
    return entries


def _check_named_widths(name: str, named: Mapping[str, Any], network: Tree) -> None:
    """Refuse widths in a name of data whose network is a module."""
    module = network["module"]
    if "network.widths" in named and module is not None:
        problem = f"{name}: the module {module} has widths of its own"
        raise KerhrmError(problem, "leave network.widths out")


def _values_of(data: DataCell) -> dict[str, Any]:
    """Values of data by the key that a name gives them."""
    parts = {
        "options": data.options.model_dump(mode="json"),
        "network": data.network.model_dump(mode="json"),
        "features": data.features.model_dump(mode="json"),
    }
    return _by_key(parts)


def _by_key(parts: Mapping[str, Tree]) -> dict[str, Any]:
    """Options of all parts by the key that a name gives them."""
    values = dict(_dotted(parts["options"]))
    for part in ("network", "features"):
        values |= _dotted(parts[part], f"{part}.")
    return values


def _dotted(options: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Nested options by dotted key."""
    for key, value in options.items():
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _of_part(part: str, named: Mapping[str, Any]) -> Tree:
    """Options in a name of data that are of one part of them."""
    options = tree(named)
    if part != "options":
        return options.get(part, {})
    others = (*RESERVED, "network", "features")
    return {key: value for key, value in options.items() if key not in others}
