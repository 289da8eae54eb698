"""Preset ``fresh``: what `all` makes, on seeds that nobody has looked at.

``python -m kerhrm.config.fresh`` writes it into the checkout at hand; ``docs/freeze.md`` explains.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from kerhrm.config.files import read
from kerhrm.config.presets import DEVELOPMENT, FRESH
from kerhrm.config.resolve import resolve
from kerhrm.config.schema import Experiment, Seeds
from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import METHODS
from kerhrm.storage.arrays import write_text

FIRST = 1000  #: number of the first fresh seed
ENLARGED = 20  #: seeds of rows that spread widely
#: standard deviation over the development seeds beyond which a row does, in margins of verdicts:
#: .1 of an accuracy, half of a mean error
SPREAD = 5.0
MORE = "_more"  #: end of the name of an experiment that has their further seeds
PRESET = Path("config", "presets", f"{FRESH}.yaml")
FROZEN = Path("config", "frozen.yaml")

#: by experiment and setting, methods that have :data:`ENLARGED` seeds
Further = Mapping[str, Mapping[str, list[str]]]

HEAD = f"""\
# Written by the code, see docs/freeze.md: the headline on seeds from {FIRST} on, everything else as
# in the preset {DEVELOPMENT}.  Experiments named *{MORE} are further seeds of methods whose results
# spread widely on the development seeds; their rows join those of the same table.
"""


class _Plain(yaml.SafeDumper):
    """Without anchors, which would tie settings to each other."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def preset(experiments: Mapping[str, Experiment], further: Further) -> str:
    """Text of the preset, from the experiments of the preset ``paper``.

    A replicate with seed s has seed 1000 + s.  Methods of ``further`` have the settings' own
    options in an experiment of their own, whose seeds go on from there to 1019.

    Raises
    ------
    KerhrmError
        If the development seeds of an experiment are not all below 1000, or those of one in
        ``further`` not 0, ..., n - 1.
    """
    headline = {name: e for name, e in experiments.items() if e.in_all}
    told: dict[str, Any] = {name: {"seeds": _fresh(name, e)} for name, e in headline.items()}
    told |= {f"{n}{MORE}": _more(n, headline[n], chosen) for n, chosen in further.items()}
    body = {"experiments": told}
    return HEAD + yaml.dump(body, Dumper=_Plain, sort_keys=False, default_flow_style=None, width=99)


def closed(names: list[str], run: list[str]) -> list[str]:
    """Methods of ``run`` that are among ``names`` or that one of those needs, in its order."""
    wanted, new = set[str](), set(names)
    while new:
        wanted |= new
        new = {METHODS[name].needs for name in new} - wanted - {""}
    return [name for name in run if name in wanted]


def sections_of(run: Iterable[str]) -> set[str]:
    """Sections of ``methods:`` that these depend on; over KerHRM's some lay what they choose."""
    return {"kerhrm", *(METHODS[name].section if name in METHODS else name for name in run)}


def _fresh(name: str, experiment: Experiment) -> Any:
    seeds = experiment.seeds
    streams = {stream: getattr(seeds, stream) for stream in Seeds.model_fields}
    searched = experiment.tuning.numbers if experiment.tuning else []
    largest = max(map(max, filter(None, (*streams.values(), searched))))
    if largest >= FIRST:
        raise KerhrmError(f"{name} has seed {largest}", f"seeds from {FIRST} on are kept fresh")
    shifted = {stream: [FIRST + seed for seed in numbers] for stream, numbers in streams.items()}
    return shifted["data"] if len({*map(tuple, shifted.values())}) == 1 else shifted


def _more(name: str, experiment: Experiment, chosen: Mapping[str, list[str]]) -> dict[str, Any]:
    """An experiment with the options of another, for some of its methods and further seeds."""
    n = len(experiment.seeds.data)
    if experiment.seeds.names != list(range(n)):
        raise KerhrmError(f"{name} has no seeds 0 to {n - 1}", "its rows cannot have more of them")
    tree = experiment.model_dump(mode="json", exclude_unset=True)
    settings = {}
    for label, methods in chosen.items():
        run = closed(methods, tree["settings"][label]["run"])
        sections = sections_of(run)
        options = tree["settings"][label]["methods"]
        options = {section: o for section, o in options.items() if section in sections and o}
        settings[label] = tree["settings"][label] | {"run": run, "methods": options}
    words = {
        "title": f"{ENLARGED} seeds of what spreads widely",
        "about": f"What spread by over {SPREAD:g} margins in development has {ENLARGED} seeds.",
        "seeds": list(range(FIRST + n, FIRST + ENLARGED)),
        "settings": settings,
    }
    return {k: v for k, v in tree.items() if k not in ("tuning", "tuned_like")} | words


if __name__ == "__main__":
    frozen = read(FROZEN).content if FROZEN.exists() else {}
    usual = resolve({"preset": DEVELOPMENT}, PRESET.parents[1]).experiments
    write_text(PRESET, preset(usual, frozen.get("further", {})))
