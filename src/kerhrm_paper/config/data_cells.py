"""Data of a name: the options in force, validated, and the seeds."""

from collections.abc import Mapping
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm.features.options import FeatureOptions
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import Options
from kerhrm_paper.config.cells import DataCell
from kerhrm_paper.config.files import Key, Sources, Tree
from kerhrm_paper.config.layers import changes_at, layers
from kerhrm_paper.config.options import Places, dump, entry_of
from kerhrm_paper.config.schema import FIRST_SEARCHED, Whole
from kerhrm_paper.config.schemas import RESERVED, Schemas
from kerhrm_paper.config.spelling import spell_value, tree
from kerhrm_paper.data.registry import DATA_SETS, RAW
from kerhrm_paper.runs.replication import Seeds


class DataCells(Schemas):
    """Data of the files, one name after the other.

    Attributes
    ----------
    base, changes : dict
        The files up to the preset, merged; and what the preset and the user change.
    """

    def __init__(self, sources: Sources, whole: Whole) -> None:
        super().__init__(sources, whole)
        self.base, self.changes = layers(sources)
        self._cells: dict[str, DataCell] = {}

    def data(self, name: str) -> DataCell:
        """What a name of data stands for.

        Raises KerhrmError if it is none, or its options do not fit.
        """
        if name not in self._cells:
            self._cells[name] = self._data(name)
        return self._cells[name]

    def _data(self, name: str) -> DataCell:
        base, named = self.parse_data(name)
        generator = DATA_SETS[self.whole.data[base].generator]
        values = self._values(base, self._places_of(name))
        module = values["network"]["module"]
        if "network.widths" in named and module is not None:
            problem = f"{name}: the module {module} has widths of its own"
            raise KerhrmError(problem, "leave network.widths out")
        options: Any = generator.options(**values["options"])
        entries = {
            "generate": entry_of(generator.generate),
            "options": entry_of(generator.options),
        }
        if generator.raw:
            entries["raw"] = entry_of(RAW[generator.raw])
        self._check_network(base)
        return DataCell(
            name=name,
            base=base,
            generator=self.whole.data[base].generator,
            task=generator.task,
            raw=generator.raw,
            options=options,
            n_points=options.n_points,
            network=NetworkOptions(**values["network"]),
            features=FeatureOptions(**values["features"]),
            seeds=self._seeds(base, name, named),
            entries=entries,
        )

    def explained_data(self, name: str) -> dict[str, dict[str, Key | str]]:
        """Where each option of data stands that is no default, by part."""
        return {
            part: {
                option: place if isinstance(place, str) else (*place, option)
                for place, given in places
                for option in given
            }
            for part, places in self._places_of(name).items()
        }

    def _places_of(self, name: str) -> dict[str, Places]:
        """Options of every part of data, each with where it stands.

        The conditions of ``at`` are met by the values that hold without any ``at``.
        """
        base, named = self.parse_data(name)
        own = _parts(tree(named))

        def places(values: Tree) -> dict[str, Places]:
            """The same where ``at`` sees some values."""
            return {
                part: self._data_places(base, part, own, name, values) for part in own
            }

        return places(_conditions(self._values(base, places({}))))

    def _values(self, base: str, places: Mapping[str, Places]) -> dict[str, Tree]:
        """Options of every part of data, with their defaults."""
        kinds: dict[str, type[Options]] = {
            "options": DATA_SETS[self.whole.data[base].generator].options,
            "network": NetworkOptions,
            "features": FeatureOptions,
        }
        return {
            part: dump(
                self.sources,
                kinds[part],
                of_part,
                prefix="" if part == "options" else f"{part}.",
            )
            for part, of_part in places.items()
        }

    def _data_places(
        self, base: str, part: str, own: Tree, name: str, values: Tree
    ) -> Places:
        """Options of a part of data, each with where it stands; later ones win."""
        at = ("data", base)
        places: Places = []
        for layer in (self.base, self.changes):
            data = layer.get("data", {}).get(base) or {}
            places.append(((*at, part), data.get(part) or {}))
            for place, one in changes_at(data, self.whole.data[base].at):
                if values and self.fits(place, base, values):
                    places.append(((*at, "at", place, part), one.get(part) or {}))
        places.append((name, own[part]))
        return places

    def fits(self, place: str, base: str, values: Mapping[str, Any]) -> bool:
        """Whether data of a base with some values, by key, meet a condition."""
        wanted, options = self.parse_data(place)
        return wanted == base and all(
            spell_value(values.get(key)) == spell_value(value)
            for key, value in options.items()
        )

    def _check_network(self, base: str) -> None:
        """Refuse widths that come with a module, or after it, and have no effect.

        A preset's widths are those of all runs of its size, and a module may replace
        them.
        """
        module, idle, key = None, False, ("data", base, "network")
        for number, layer in enumerate(self.sources.layers):
            given = Sources([layer]).find(key)[2]
            if not isinstance(given, Mapping):
                continue
            if "module" in given:
                module, idle = given["module"], False
            if "widths" in given:
                of_preset = number == self.sources.preset_at
                idle = idle or "module" in given or not of_preset
        if module is not None and idle:
            problem = f"the module {module} has widths of its own"
            hint = "leave widths out, or set module: null"
            raise self.sources.error((*key, "widths"), problem, hint)

    def _seeds(self, base: str, name: str, named: Mapping[str, Any]) -> Seeds:
        """Seeds of data: as many as any learner on them has."""
        whole, data = self.whole, self.whole.data[base]
        if whole.search and data.tuning:
            return Seeds.alike(data.tuning.seeds, FIRST_SEARCHED)
        if "crossed" in named:
            if "seeds" in named:
                problem = f"{name}: crossed says how many seeds there are"
                raise KerhrmError(problem, "leave seeds out")
            return Seeds.crossed(named["crossed"], whole.seed_offset)
        if "seeds" in named:
            return Seeds.alike(named["seeds"], whole.seed_offset)
        number = self.n_seeds(base, name, None)
        given = data.seeds if isinstance(data.seeds, dict) else {}
        more = [n for place, n in given.items() if place.partition("/")[0] == name]
        return Seeds.alike(max([number, *more]), whole.seed_offset)

    def n_seeds(self, base: str, data: str, learner: str | None) -> int:
        """Replicates of a cell: of its name, else of its data, else of the data set."""
        given = self.whole.data[base].seeds
        if isinstance(given, int):
            return given
        of_cell = [] if learner is None else [f"{data}/{learner}"]
        for place in (*of_cell, data, base):
            if place in given:
                return given[place]
        key = ("data", base, "seeds")
        problem = f"no number is for {data}"
        raise self.sources.error(key, problem, f"add {base}: NUMBER")


def values_of(data: DataCell) -> dict[str, Any]:
    """Values of data by the key that a name gives them."""
    parts = ("options", "network", "features")
    return _conditions(
        {part: getattr(data, part).model_dump(mode="json") for part in parts}
    )


def _conditions(parts: Mapping[str, Tree]) -> dict[str, Any]:
    """Options of all parts by the key that a name gives them."""
    values = _flat(parts["options"])
    for part in ("network", "features"):
        values |= _flat(parts[part], f"{part}.")
    return values


def _flat(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Nested options by dotted key."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{above}{key}.")
        else:
            flat[f"{above}{key}"] = value
    return flat


def _parts(named: Tree) -> dict[str, Tree]:
    """Options in a name of data, by the part that they are of."""
    own = {key: value for key, value in named.items() if key not in RESERVED}
    parts = {part: own.pop(part, {}) for part in ("network", "features")}
    return {"options": own, **parts}
