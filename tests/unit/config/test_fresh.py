"""The preset of fresh seeds: nothing of the headline is forgotten, and nothing else changes."""

import functools
from typing import Any

import pytest
import yaml
from configtools import SHIPPED

from kerhrm.config.fresh import ENLARGED, FIRST, FROZEN, MORE, PRESET, closed, preset
from kerhrm.config.presets import DEVELOPMENT, FRESH
from kerhrm.config.resolve import resolve
from kerhrm.config.schema import Config
from kerhrm.config.sharing import Sharing
from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import METHODS

USUAL = resolve({"preset": DEVELOPMENT}, SHIPPED)
IN_ALL = {name: e for name, e in USUAL.experiments.items() if e.in_all}
#: every method of every setting of `all`
EVERYTHING = {n: {label: list(s.run) for label, s in e.settings.items()} for n, e in IN_ALL.items()}


def frozen() -> dict[str, Any]:
    path = SHIPPED.parent / FROZEN
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}


@functools.cache
def resolved(text: str) -> Config:
    """As if the shipped preset said so."""
    return resolve(yaml.safe_load(text) | {"preset": DEVELOPMENT}, SHIPPED)


def test_the_shipped_preset_is_up_to_date() -> None:
    """Else: python -m kerhrm.config.fresh."""
    shipped = (SHIPPED.parent / PRESET).read_text(encoding="utf-8")
    assert shipped == preset(USUAL.experiments, frozen().get("further", {}))


def test_every_experiment_of_all_has_as_many_fresh_seeds_and_nothing_else_changes() -> None:
    fresh = resolve({"preset": FRESH}, SHIPPED).experiments
    assert {name for name, e in fresh.items() if e.in_all and not name.endswith(MORE)} == {*IN_ALL}
    for name, usual in USUAL.experiments.items():
        ours = fresh[name].model_dump(mode="json")
        theirs = usual.model_dump(mode="json")
        seeds, before = ours.pop("seeds"), theirs.pop("seeds")
        assert ours == theirs
        shift = FIRST if usual.in_all else 0
        assert seeds == {stream: [shift + s for s in numbers] for stream, numbers in before.items()}


def test_further_seeds_go_on_with_the_same_options() -> None:
    """All methods of all settings, in experiments of their own."""
    config = resolved(preset(USUAL.experiments, EVERYTHING))
    for name, usual in IN_ALL.items():
        base, more = config.experiments[name], config.experiments[f"{name}{MORE}"]
        numbers = base.seeds.data + more.seeds.data
        assert numbers == list(range(FIRST, FIRST + ENLARGED))
        assert more.seeds.names == more.seeds.data
        assert more.tuning is None
        own = {"title", "about", "seeds", "tuning", "tuned_like", "settings"}
        ours, theirs = (e.model_dump(exclude=own) for e in (more, base))
        assert ours == theirs
        assert list(more.settings) == list(usual.settings)
        for label, setting in more.settings.items():
            assert setting.data == base.settings[label].data
            assert setting.run == base.settings[label].run
            assert setting.dimensions == base.settings[label].dimensions
            for method in setting.run:
                section = METHODS[method].section
                ours, theirs = (
                    getattr(s.methods, section) for s in (setting, usual.settings[label])
                )
                assert ours == theirs
                assert more.chosen(label, method) == base.chosen(label, method)
                if not base.has_oracle(label):  # which has all sets on trial
                    assert more.choices(label, method) == base.choices(label, method)


def test_further_seeds_share_work_as_the_first_ones_do() -> None:
    shared = Sharing(resolved(preset(USUAL.experiments, EVERYTHING)).experiments)
    for name, experiment in IN_ALL.items():
        for label in experiment.settings:
            owner, setting = shared.owner(name, label, "data")
            assert shared.owner(f"{name}{MORE}", label, "data") == (f"{owner}{MORE}", setting)


def test_what_a_method_needs_comes_along() -> None:
    run = ["erm", "kerhrm", "igd", "released"]
    needing = [name for name in run if METHODS[name].needs == "kerhrm"]
    assert needing
    for name in needing:
        assert closed([name], run) == [m for m in run if m in ("kerhrm", name)]
    assert closed(["erm"], run) == ["erm"]
    assert closed([], run) == []


def test_a_method_alone_has_its_options_too() -> None:
    """Each in another setting, with what it needs."""
    (name, settings), *_ = EVERYTHING.items()
    label, methods = next(iter(settings.items()))
    one = IN_ALL[name].model_copy(update={"tuning": None})
    settings = {f"only={n}": one.settings[label] for n, _ in enumerate(methods)}
    many = one.model_copy(update={"settings": settings})
    chosen = {alone: [method] for alone, method in zip(settings, methods, strict=True)}
    told = yaml.safe_load(preset({name: many}, {name: chosen}))["experiments"][f"{name}{MORE}"]
    more = resolve({"preset": DEVELOPMENT, "experiments": {f"{name}{MORE}": told}}, SHIPPED)
    for alone, method in zip(settings, methods, strict=True):
        found = more.experiments[f"{name}{MORE}"]
        assert method in found.settings[alone].run
        assert found.choices(alone, method) == one.choices(label, method)


def test_an_experiment_of_further_seeds_has_nothing_else() -> None:
    (name, settings), *_ = EVERYTHING.items()
    label = next(iter(settings))
    config = resolved(preset(USUAL.experiments, {name: {label: ["erm"]}}))
    (setting,) = config.experiments[f"{name}{MORE}"].settings.values()
    assert setting.run == ["erm"]


def test_streams_of_seeds_that_are_apart_stay_so() -> None:
    name, one = next(iter(IN_ALL.items()))
    seeds = {"data": [0, 1], "network": [2, 2], "clustering": [0, 0]}
    crossed = one.model_copy(update={"seeds": type(one.seeds)(**seeds)})
    told = yaml.safe_load(preset({name: crossed}, {}))["experiments"][name]["seeds"]
    assert told == {stream: [FIRST + s for s in numbers] for stream, numbers in seeds.items()}
    with pytest.raises(KerhrmError, match=f"{name} has no seeds 0 to 1; its rows cannot"):
        preset({name: crossed}, {name: {next(iter(one.settings)): ["erm"]}})


def test_seeds_that_are_kept_fresh_cannot_have_been_used() -> None:
    name, one = next(iter(IN_ALL.items()))
    late = one.seeds.model_copy(update={"network": [*one.seeds.network[:-1], FIRST + 3]})
    with pytest.raises(KerhrmError, match=f"{name} has seed {FIRST + 3}; seeds from {FIRST} on"):
        preset({name: one.model_copy(update={"seeds": late})}, {})
    assert one.tuning is not None
    searched = one.tuning.model_copy(update={"first_seed": FIRST})
    with pytest.raises(KerhrmError, match="are kept fresh"):
        preset({name: one.model_copy(update={"tuning": searched})}, {})
