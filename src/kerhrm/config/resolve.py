"""From the files of ``config/`` and the command line to one validated configuration."""

import functools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kerhrm.config import datasets
from kerhrm.config.files import ABSENT, MAPPING, Key, Source, Tree, merge, read, shown, text_keys
from kerhrm.config.schema import SHARED, VARIANTS, Config, Experiment
from kerhrm.errors import KerhrmError
from kerhrm.sections import suggest

#: of what pydantic finds
_CURES = {
    **dict.fromkeys(("list_type", "tuple_type"), "write a list"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "write a whole number"),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "write a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "write true or false"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), MAPPING),
    "string_type": "write text",
    "string_too_short": "write some text",
    "too_short": "write at least {min_length}",
    "too_long": "write at most {max_length}",
    "greater_than": "write a number above {gt:g}",
    "greater_than_equal": "write a number of at least {ge:g}",
    "less_than_equal": "write a number of at most {le:g}",
    "literal_error": "choose {expected}",
    "missing": "{key} is missing; add it",
}


def resolve(
    top: Mapping[str, Any], folder: str | Path = "config", configfiles: Sequence[str | Path] = ()
) -> Config:
    """Merge and validate the configuration; :meth:`_Files.places` has the order.

    ``top`` is what Snakemake has from ``--config`` and ``--configfile``, keys of
    :class:`~kerhrm.config.schema.Config` and ``methods``; ``configfiles`` are the files of the
    latter, for the errors' sake.  The first thing that is wrong is told by a
    :class:`KerhrmError`: the file that says it, the key there, the cure.
    """
    files = _Files(top, Path(folder), [read(Path(path)) for path in configfiles])
    try:
        config = Config.model_validate(files.tree())
    except ValidationError as error:
        raise files.refuse(*_first_finding(error)) from error
    for name, experiment in config.experiments.items():
        if experiment.tuning:
            experiment._untuned.update(files.untuned(name, experiment))
    return config


def _first_finding(error: ValidationError) -> tuple[Key, str, bool]:
    """Key in the resolved tree, cure, and whether the key is missing there."""
    found = error.errors()[0]
    # pydantic marks a wrong key of a mapping
    key = tuple(part for part in found["loc"] if part != "[key]")
    if found["type"] not in _CURES:
        return key, found["msg"].removeprefix("Value error, "), False
    cure = _CURES[found["type"]].format(key=key[-1], **found.get("ctx", {}))
    return key, cure, found["type"] == "missing"


class _Files:
    """All sources, and the order in which they are laid over each other."""

    def __init__(self, top: Mapping[str, Any], folder: Path, configfiles: Sequence[Source]):
        self.folder, self.configfiles = folder, configfiles
        self.machine = read(folder / "config.yaml")
        self.top = Source("--config", text_keys(top))
        self.preset_name, preset = self._preset()
        self.general = preset, self.machine, self.top
        self.methods = self._by_stem("methods")
        self.own = dict(sorted((self._by_stem("experiments") | self._datasets()).items()))
        named = [name for s in self.general for name in s.section(("experiments",))]
        self.experiments = dict.fromkeys([*self.own, *named])
        self.tuned = self._tuned()
        self._merged: dict[Key, Tree] = {}

    def _by_stem(self, name: str) -> dict[str, Source]:
        """The files of a folder, in the order of their names without ending."""
        paths = sorted((self.folder / name).glob("*.yaml"), key=lambda path: path.stem)
        return {path.stem: read(path) for path in paths}

    def _datasets(self) -> dict[str, Source]:
        """Experiments that stand for data sets, of files and of ``datasets`` in general ones."""
        blocks: dict[str, tuple[Source, Key]] = {
            name: (source, ()) for name, source in self._by_stem(datasets.FOLDER).items()
        }
        for source in self.general:
            for name, block in source.section((datasets.FOLDER,)).items():
                at = (datasets.FOLDER, name)
                same = [f for f in self.configfiles if source is self.top and f.get(at) == block]
                blocks[name] = ((same or [source])[-1], at)
        return {
            f"{datasets.PREFIX}{name}": datasets.experiment(source, at, name)
            for name, (source, at) in blocks.items()
        }

    def _preset(self) -> tuple[str, Source]:
        """The preset's name, which is that of the results' folder, and its file."""
        said = [s for s in (self.machine, self.top) if "preset" in s.content]
        name = str(said[-1].content["preset"] if said else "paper")
        shipped = {p.stem: p for p in sorted((self.folder / "presets").glob("*.yaml"))}
        path, told = shipped.get(name, Path(name)), ""
        if name not in shipped and path.suffix not in (".yaml", ".yml"):
            told = f"no such preset; {suggest(name, shipped)}"
        elif shipped.get(path.stem, path).resolve() != path.resolve():
            told = f"its results would be those of the preset '{path.stem}'; rename it"
        elif not re.fullmatch(r"[\w.-]+", path.stem):
            told = "it names a folder: write letters, digits and . _ -"
        if told:
            raise said[-1].error(("preset",), told)
        source = read(path)
        if "preset" in source.content:
            raise source.error(("preset",), "a preset names no other one; leave it out")
        return path.stem, source

    def _tuned(self) -> dict[str, Source]:
        said = [t for s in self.general if isinstance(t := s.get(("tuned",)), str)]
        folder = Path(said[-1]).expanduser() if said else self.folder / "tuned"
        paths = [folder / f"{name}.yaml" for name in self.experiments]
        there = folder.glob("*.yaml")  # of experiments that are left out, too
        return {p.stem: read(p) if p.exists() else Source(shown(p), {}) for p in (*paths, *there)}

    def places(self, key: Key) -> Iterator[tuple[Source, Key]]:
        """Where a key of the resolved tree may stand, later ones win: source, key in it."""
        match key:
            case ("experiments", name, "settings", label, shared, *rest) if shared in SHARED:
                if shared == "methods":
                    if rest and rest[0] in self.methods:
                        yield self.methods[rest[0]], tuple(rest[1:])
                    yield self.tuned[self._tuned_as(name)], tuple(rest)
                    for source in self.general:
                        yield source, ("methods", *rest)
                for place in ((), *self._origins(name, label)):
                    yield from self._experiment(name, (*place, shared, *rest))
            case ("experiments", name, *rest):
                yield from self._experiment(name, tuple(rest))
            case _:
                for source in self.general:
                    yield source, key

    def _tuned_as(self, name: str) -> str:
        """The experiment whose tuned options an experiment's methods have."""
        said = self.said(("experiments", name, "tuned_like"))
        source, at, other = said[-1] if said else (self.machine, (), None)
        if other is not None and other not in self.tuned:
            raise source.error(at, f"no such experiment; {suggest(str(other), self.experiments)}")
        return name if other is None else str(other)

    def _experiment(self, name: str, key: Key) -> Iterator[tuple[Source, Key]]:
        if name in self.own:
            yield self.own[name], key
        for source in self.general:
            yield source, ("experiments", name, *key)

    def _origins(self, name: str, label: str) -> list[Key]:
        """Where a setting's own words stand: of a setting with a variant three places."""
        settings = self.merged("experiments", name, "settings")
        for variant in self.merged("experiments", name, VARIANTS):
            base = label.removesuffix(f",{variant}")
            if base != label and base in settings:
                return [("settings", base), (VARIANTS, variant), ("settings", label)]
        return [("settings", label)]

    def _labels(self, at: Key) -> Iterator[str]:
        """Names of an experiment's settings, each followed by those with its variants."""
        name = str(at[-1])
        settings, variants = (self.merged(*at, part) for part in ("settings", VARIANTS))
        own = self.own[name] if name in self.own else Source("", {})

        def kept(part: str, key: str) -> bool:
            return not self._left_out((*at, part, key), own.section((part,)))

        changes = [variant for variant in variants if kept(VARIANTS, variant)]
        for label in settings:
            if len(self._origins(name, label)) == 1 and kept("settings", label):
                yield label
                both = (f"{label},{variant}" for variant in changes)
                yield from (found for found in both if settings.get(found, {}) is not None)

    def said(self, key: Key) -> list[tuple[Source, Key, Any]]:
        """What is said of a key, and where; the last one wins."""
        found = ((source, at, source.get(at)) for source, at in self.places(key))
        return [one for one in found if one[2] is not ABSENT]

    def merged(self, *key: str) -> Tree:
        """A section of the resolved tree: what all sources say of it."""
        if key not in self._merged:
            said = (source.section(at) for source, at in self.places(key))
            self._merged[key] = functools.reduce(merge, said, {})
        return dict(self._merged[key])

    def tree(self) -> Tree:
        """The resolved tree, not yet validated."""
        kept = [n for n in self.experiments if not self._left_out(("experiments", n), self.own)]
        tree = self.merged() | {"experiments": {name: self._expand(name) for name in kept}}
        said = {k: v for k, v in tree.items() if k not in Config.also}
        return said | {"preset": self.preset_name}

    def _left_out(self, key: Key, known: Collection[str]) -> bool:
        """Whether the last word on an experiment or a setting is ``null``."""
        said = self.said(key)
        if said and all(value is None for *_, value in said):
            source, at, _ = said[0]
            raise source.error(at, f"nothing to leave out; {suggest(key[-1], known)}")
        return bool(said) and said[-1][2] is None

    def _expand(self, name: str) -> Tree:
        """Give every setting of an experiment its whole data and method sections."""
        at, settings = ("experiments", name), {}
        own = self.merged(*at)
        for label in self._labels(at):
            here = (*at, "settings", label)
            methods = [*self.methods, *self.merged(*here, "methods")]
            run = [value for *_, value in self.said((*here, "run")) if value is not None]
            settings[label] = self.merged(*here) | {
                "data": self.merged(*here, "data"),
                "methods": {m: self.merged(*here, "methods", m) for m in methods},
                "run": run[-1] if run else [],
            }
        kept = {k: v for k, v in own.items() if k not in (*SHARED, VARIANTS)}
        return kept | {"settings": settings}

    def untuned(self, name: str, experiment: Experiment) -> dict[str, str]:
        """Methods that still have to be tuned, and the file that lacks them."""
        chosen = self.tuned[name]
        methods = experiment.tuned_methods
        return {m: chosen.name for m in methods if chosen.get((m, "selected")) is ABSENT}

    def refuse(self, key: Key, told: str, missing: bool = False) -> KerhrmError:
        """Error about a key of the resolved tree, in the words of the file that wrote it.

        Of a key that nobody wrote it names the file that says most of what is around it, of a
        ``missing`` one the first file that might have had it.
        """
        if missing and len(key) == 3 and key[1] not in self.own:
            told += f", or {suggest(key[1], self.own)}"
        for n in range(len(key) - missing, 0, -1):
            if said := self.said(key[:n]):
                source, at, value = said[0 if missing else -1]
                same = [f for f in self.configfiles if source is self.top and f.get(at) == value]
                rest = key[n:] if isinstance(value, Mapping) and not missing else ()
                return (same[-1] if same else source).error((*at, *rest), told)
        return Source(shown(self.folder), {}).error(key, told)
