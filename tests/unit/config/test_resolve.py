"""The shipped files resolve, and files merge in a fixed order."""

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from configtools import SHIPPED, Spoil, Write

from kerhrm.config.files import merge, read
from kerhrm.config.fresh import MORE
from kerhrm.config.methods import Methods
from kerhrm.config.presets import FRESH
from kerhrm.config.resolve import resolve
from kerhrm.config.schema import Config
from kerhrm.data.classification.options import ClassificationData
from kerhrm.data.regression.options import RegressionData
from kerhrm.errors import KerhrmError
from kerhrm.methods.irm.options import IRM
from kerhrm.methods.kerhrm.options import Choice
from kerhrm.methods.registry import METHODS

PRESETS = sorted(p.stem for p in (SHIPPED / "presets").glob("*.yaml"))
EXPERIMENTS = sorted(
    prefix + path.stem
    for prefix, folder in (("", "experiments"), ("dataset_", "datasets"))
    for path in (SHIPPED / folder).glob("*.yaml")
)
#: experiments by which others are tuned
TUNED_LIKE = {
    read(p).content.get("tuned_like") for p in (SHIPPED / "experiments").glob("*.yaml")
} - {None}


# what is shipped


@pytest.mark.parametrize("preset", PRESETS)
def test_every_shipped_preset_resolves(preset: str) -> None:
    """With what `tune` has chosen, too: every method has its options."""
    config = resolve({"preset": preset}, SHIPPED)
    assert config.preset == preset
    further = (
        [name for name in config.experiments if name.endswith(MORE)] if preset == FRESH else []
    )
    assert {name.removesuffix(MORE) for name in further} <= set(EXPERIMENTS)
    known = EXPERIMENTS + ["cnn"] * (preset == "smoke")
    assert sorted(config.experiments) == sorted(known + further)
    for experiment in config.experiments.values():
        for name, setting in experiment.settings.items():
            assert all(experiment.options(name, method) for method in setting.run)


def test_the_shipped_files_are_seen() -> None:
    assert {"paper", "smoke"} <= set(PRESETS)
    assert {"classification", "clusters", "colored_mnist", "regression"} <= set(EXPERIMENTS)
    assert resolve({}, SHIPPED) == resolve({"preset": "paper"}, SHIPPED)


def test_a_method_file_departs_from_the_defaults() -> None:
    """What equals them stands in the schema or the registry alone."""
    defaults = Methods().model_dump(mode="json")
    for path in (SHIPPED / "methods").glob("*.yaml"):
        content = read(path).content
        assert merge(defaults[path.stem], content) != defaults[path.stem], path


def test_the_paper_preset_changes_nothing(folder: Path) -> None:
    shipped = resolve({}, folder)
    setting = shipped.experiments["classification"].settings["r2=0.70"]
    assert setting.data == ClassificationData(generator="classification")
    assert setting.methods.kerhrm == Methods().kerhrm
    (folder / "presets" / "paper.yaml").write_text("")
    assert resolve({}, folder) == shipped


def test_settings_take_their_own_data(folder: Path) -> None:
    settings = resolve({}, folder).experiments["regression"].settings
    for scenario in (1, 2):
        for r in (1.5, 1.9, 2.3):
            data = settings[f"scenario={scenario},r={r}"].data
            assert isinstance(data, RegressionData)
            assert (data.scenario, data.r) == (scenario, r)


@pytest.mark.parametrize("preset", PRESETS)
def test_plain_content_comes_back_as_it_was(preset: str) -> None:
    config = resolve({"preset": preset}, SHIPPED)
    assert Config.model_validate(config.plain()) == config
    assert json.loads(json.dumps(config.plain(), allow_nan=False)) == config.plain()


def test_the_configuration_is_light() -> None:
    """Snakemake's own process reads it, on every job's start, too."""
    heavy = "{'torch', 'pandas', 'scipy', 'sklearn', 'matplotlib'}"
    code = (
        "import sys; from kerhrm.config.resolve import resolve; "
        f"import kerhrm.config.sharing; resolve({{}}, {str(SHIPPED)!r}); "
        f"sys.exit(', '.join({heavy} & set(sys.modules)) or None)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# merging


@pytest.mark.parametrize(
    ("base", "changes", "expected"),
    [
        ({}, {}, {}),
        ({"a": 1}, {}, {"a": 1}),
        ({}, {"a": 1}, {"a": 1}),
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, {"a": 1, "b": 3, "c": 4}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}}, {"a": {"b": 1, "c": 3}}),
        ({"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"d": 3}}}, {"a": {"b": {"c": 1, "d": 3}}}),
        ({"a": [1, 2, 3]}, {"a": [4]}, {"a": [4]}),
        ({"a": [{"b": 1}]}, {"a": [{"c": 1}]}, {"a": [{"c": 1}]}),
        ({"a": {"b": 1}}, {"a": 2}, {"a": 2}),
        ({"a": {"b": 1}}, {"a": None}, {"a": None}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": 1}}),
        ({"a": 2}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_mappings_merge_and_all_else_is_replaced(
    base: dict[str, Any], changes: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert merge(base, changes) == expected


def test_merging_leaves_its_arguments_alone() -> None:
    base, changes = {"a": {"b": {"c": 1}}, "d": [1]}, {"a": {"b": {"e": 2}}, "d": [2]}
    before = copy.deepcopy((base, changes))
    merge(base, changes)
    assert (base, changes) == before


def test_resolving_leaves_the_command_line_alone(folder: Path) -> None:
    top = {"preset": "smoke", "device": "cpu"}
    resolve(top, folder)
    assert top == {"preset": "smoke", "device": "cpu"}


def test_the_later_source_wins(folder: Path, write: Write) -> None:
    """Each source on top of all earlier ones; the values count the sources."""
    tuned = "tuned/classification"
    shipped, smoke = "experiments/classification", "presets/smoke"
    sources: list[tuple[str, Callable[[dict[str, Any], dict[str, Any]], Any]]] = [
        ("methods/dro", lambda tree, dro: tree.update(dro)),
        (tuned, lambda tree, dro: tree.update(dro=dro)),
        (smoke, lambda tree, dro: tree.update(methods={"dro": dro})),
        (shipped, lambda tree, dro: tree.update(methods={"dro": dro})),
        (
            smoke,
            lambda tree, dro: tree.update(
                experiments={"classification": {"methods": {"dro": dro}}}
            ),
        ),
        (shipped, lambda tree, dro: tree["settings"]["r2=0.70"].update(methods={"dro": dro})),
        (
            smoke,
            lambda tree, dro: tree["experiments"]["classification"].update(
                settings={"r2=0.70": {"methods": {"dro": dro}}}
            ),
        ),
    ]
    for name in ("methods/dro", smoke, tuned):
        write(name, {})
    seen = []
    places = [("classification", "r2=0.70"), ("classification", "r2=0.75")]
    places += [("regression", "scenario=1,r=1.5")]
    for value, (name, change) in enumerate(sources, start=1001):
        tree = read(folder / f"{name}.yaml").content
        change(tree, {"selected": {"steps": value}})
        write(name, tree)
        experiments = resolve({"preset": "smoke"}, folder).experiments
        chosen = [experiments[e].settings[s].methods.dro.selected for e, s in places]
        seen.append([options.steps - 1000 for options in chosen])
    assert seen == [
        [1, 1, 1], [2, 2, 1], [3, 3, 3], [4, 4, 3], [5, 5, 3], [6, 5, 3], [7, 5, 3]
    ]  # fmt: skip


def test_what_was_tuned_is_for_one_experiment(folder: Path, write: Write) -> None:
    before = resolve({}, folder).experiments
    irm = {"selected": {"weight": 3.0}, "rules": {"pooled validation": {"steps": 7}}}
    kerhrm = {"k": [3], "invariance": {"alpha": [2.0]}, "network": {"penalty": [30.0]}}
    write("tuned/regression", {"irm": irm, "kerhrm": kerhrm})
    after = resolve({}, folder).experiments
    like = {name for name, one in before.items() if one.tuned_like == "regression"}
    assert all(after[name] == before[name] for name in set(before) - like - {"regression"})
    for label, setting in after["regression"].settings.items():
        old, new = before["regression"].settings[label].methods, setting.methods
        assert new.model_copy(update={"irm": old.irm, "kerhrm": old.kerhrm}) == old
        assert new.irm.selected == old.irm.selected.model_copy(update={"weight": 3.0})
        assert new.irm.rules == {"pooled validation": IRM(steps=7)}
        assert old.irm.rules == {}
        assert new.kerhrm == Choice(k=3, alpha=2.0, penalty=30.0).of(old.kerhrm)


def test_an_experiment_may_have_what_was_tuned_for_another(folder: Path, write: Write) -> None:
    rules = {"pooled validation": {"weight": 78.0}}
    write("tuned/classification", {"irm": {"selected": {"weight": 77.0}, "rules": rules}})

    def clusters(tuned_like: str) -> list[dict[str, Any]]:
        said = {"experiments": {"clusters": {"tuned_like": tuned_like}}}
        return resolve(said, folder).experiments["clusters"].options("r2=0.80", "irm")

    # it searches nothing, so that there is no more to train for an oracle
    assert [options["weight"] for options in clusters("classification")] == [77.0, 78.0]
    with pytest.raises(KerhrmError, match=r"tuned_like = 'clasification'.*'classification'"):
        clusters("clasification")


def test_a_preset_can_make_short_work_of_what_rules_have_chosen(folder: Path, write: Write) -> None:
    rule = "pooled validation"
    write("tuned/regression", {"irm": {"rules": {rule: {"weight": 2.0, "steps": 100}}}})
    write("presets/smoke", {"methods": {"irm": {"rules": {rule: {"steps": 5}}}}})
    for preset, steps in (("paper", 100), ("smoke", 5)):
        settings = resolve({"preset": preset}, folder).experiments["regression"].settings
        for setting in settings.values():
            assert setting.methods.irm.rules == {rule: IRM(weight=2.0, steps=steps)}


def test_a_study_shows_a_methods_own_rule_alone(folder: Path, write: Write) -> None:
    rules = {"pooled validation": {"weight": 78.0}}
    write("tuned/classification", {"irm": {"selected": {"weight": 77.0}, "rules": rules}})
    found = resolve({"experiments": {"clusters": {"in_all": False}}}, folder).experiments
    one = found["clusters"]
    (options,) = one.options("r2=0.80", "irm")
    assert options["weight"] == 77.0
    assert one.shown("r2=0.80", "irm") == {METHODS["irm"].rule: 0}


def test_a_preset_replaces_lists_and_merges_mappings(folder: Path) -> None:
    (folder / "presets" / "smoke.yaml").write_text(
        "methods: {kerhrm: {k: [3], clustering: {restarts: 2}}}\n"
        "experiments: {classification: {data: {n_test: 7}, settings: {r2=0.70: {run: [erm]}}}}\n"
    )
    settings = resolve({"preset": "smoke"}, folder).experiments["classification"].settings
    default = Methods().kerhrm
    for label, r2 in (("r2=0.70", 0.70), ("r2=0.75", 0.75)):
        kerhrm, data = settings[label].methods.kerhrm, settings[label].data
        assert kerhrm.k == [3]
        assert kerhrm.clustering == default.clustering.model_copy(update={"restarts": 2})
        assert (kerhrm.iterations, kerhrm.network) == (default.iterations, default.network)
        assert data == ClassificationData(generator="classification", n_test=7, r2=r2)
    assert settings["r2=0.70"].run == ["erm"]
    assert (
        settings["r2=0.75"].run == read(SHIPPED / "experiments/classification.yaml").content["run"]
    )


def test_a_preset_leaves_a_setting_out(folder: Path) -> None:
    (folder / "presets" / "smoke.yaml").write_text(
        "experiments: {classification: {settings: {r2=0.80: null}}}"
    )
    smoke, paper = (resolve({"preset": p}, folder).experiments for p in ("smoke", "paper"))
    shipped = list(read(SHIPPED / "experiments/classification.yaml").content["settings"])
    assert list(paper["classification"].settings) == shipped
    assert list(smoke["classification"].settings) == [s for s in shipped if s != "r2=0.80"]
    assert smoke["regression"] == paper["regression"]


def test_an_experiment_keeps_a_setting(spoilt: Spoil) -> None:
    shipped = read(SHIPPED / "experiments/clusters.yaml").content["settings"]
    nothing = json.dumps(dict.fromkeys(shipped))
    message = spoilt(f"experiments: {{clusters: {{settings: {nothing}}}}}")
    assert message == "experiments.clusters.settings: write at least 1"


@pytest.mark.parametrize("text", ["methods:", "experiments:", "methods: {erm: }"])
def test_a_key_without_a_value_says_nothing(folder: Path, text: str) -> None:
    (folder / "presets" / "smoke.yaml").write_text(text)
    smoke, paper = (resolve({"preset": p}, folder).plain() for p in ("smoke", "paper"))
    assert smoke | {"preset": "paper"} == paper


def test_the_machine_overrides_the_preset(folder: Path, write: Write) -> None:
    write("presets/smoke", {"results": "preset's", "threads": 2, "device": "cpu"})
    assert resolve({}, folder).results == "results"
    write("config", {"preset": "smoke", "threads": 3, "results": "machine's"})
    config = resolve({"results": "mine", "device": "cuda:1"}, folder)
    assert (config.results, config.threads, config.device) == ("mine", 3, "cuda:1")


# what is added, and what is left out


def new(**changed: Any) -> dict[str, Any]:
    """An experiment of one's own."""
    own = {"title": "Mine", "table": "mine", "seeds": 2, "run": ["erm"]}
    return own | {"data": {"generator": "classification"}, "settings": {"a": {}}} | changed


def test_an_experiment_alone_is_enough(folder: Path, write: Write) -> None:
    """In a file of its own, in a preset or from the command line."""
    write("experiments/first", new(seeds=3))
    write("presets/smoke", {"experiments": {"second": new(table="second")}})
    top = {"preset": "smoke", "experiments": {"third": new(settings={"b": {"run": ["dro"]}})}}
    found = resolve(top, folder).experiments
    assert [*found] == [*sorted([*EXPERIMENTS, "first"]), "second", "third"]
    assert (found["second"].table, found["second"].notebook) == ("second", "table")
    assert found["third"].settings["b"].run == ["dro"]
    assert [len(found[name].seeds.names) for name in ("first", "second", "third")] == [3, 2, 2]


def test_a_setting_is_added_and_takes_what_its_experiment_says(folder: Path) -> None:
    added = {"r2=0.99": {"data": {"r2": 0.99}}, "r2=0.70": None}
    top = {"experiments": {"classification": {"settings": added}}}
    found = resolve(top, folder).experiments["classification"].settings
    assert found["r2=0.99"].data == ClassificationData(generator="classification", r2=0.99)
    assert found["r2=0.99"].run == found["r2=0.75"].run
    assert "r2=0.70" not in found


@pytest.mark.parametrize("name", [e for e in EXPERIMENTS if not e.startswith("dataset_")])
def test_any_experiment_can_be_left_out(folder: Path, name: str) -> None:
    left = [e for e in EXPERIMENTS if e != name]
    assert [*resolve({"experiments": {name: None}}, folder).experiments] == left
    (folder / "experiments" / f"{name}.yaml").unlink()
    if name in TUNED_LIKE:
        with pytest.raises(KerhrmError, match=rf"\.yaml: tuned_like = '{name}'"):
            resolve({}, folder)
    else:
        assert [*resolve({}, folder).experiments] == left


def test_the_last_word_counts(folder: Path, write: Write) -> None:
    """What a preset leaves out can come back."""
    write("presets/smoke", {"experiments": {"houses": None}})
    assert "houses" not in resolve({"preset": "smoke"}, folder).experiments
    back = resolve({"preset": "smoke", "experiments": {"houses": {}}}, folder).experiments
    assert back["houses"] == resolve({}, folder).experiments["houses"]


@pytest.mark.parametrize("shipped", [True, False])
def test_a_preset_may_be_any_file(folder: Path, shipped: bool) -> None:
    """Found from the working directory; results are named after it."""
    path = folder / "presets" / "smoke.yaml" if shipped else folder.parent / "mine.yaml"
    path.write_text("threads: 3")
    config = resolve({"preset": str(path.relative_to(folder.parent))}, folder)
    assert (config.preset, config.threads) == (path.stem, 3)


def test_methods_come_from_the_command_line(folder: Path) -> None:
    """As from a preset: what experiments and settings say of a method goes before."""
    top = {"methods": {"released": {"k": 3}, "erm": {"selected": {"steps": 4}}}}
    found = resolve(top, folder).experiments
    assert found["classification"].settings["r2=0.70"].methods.erm.selected.steps == 4
    assert found["classification"].settings["r2=0.70"].methods.released.k == 15
    assert found["houses"].settings["houses"].methods.released.k == 3


# what `tune` has chosen


def test_options_that_were_never_tuned_are_refused(folder: Path, write: Write) -> None:
    """But not before they are needed, and not where `tune` itself needs them."""
    cure = "run `snakemake tune`, then `snakemake publish_tuned` or all with --config tuned="

    def refused() -> None:
        experiment = resolve({}, folder).experiments["houses"]
        with pytest.raises(KerhrmError) as caught:
            experiment.options("houses", "dro")
        text = str(caught.value)
        assert text.startswith(
            f"config/tuned/houses.yaml: there are no tuned options of dro; {cure}"
        )
        assert experiment.options("houses", "least_squares")
        assert len(experiment.for_tuning().options("houses", "dro")) == 8

    refused()
    write("tuned/houses", {"irm": {"selected": {}}})
    refused()
    write("tuned/houses", {"dro": {"selected": {"rho": 3.0}}})
    experiment = resolve({}, folder).experiments["houses"]
    chosen, *others = experiment.options("houses", "dro")
    assert chosen["rho"] == 3.0
    assert others == experiment.for_tuning().options("houses", "dro")  # for the oracle


def test_without_a_search_methods_have_their_own_options(folder: Path) -> None:
    experiment = resolve({}, folder).experiments["clusters"]
    assert experiment.tuning is None
    assert experiment.options("r2=0.80", "irm") == [Methods().irm.selected.model_dump()]
    assert experiment.options("r2=0.80,K=2", "igd") == [
        experiment.settings["r2=0.80,K=2"].methods.kerhrm.model_dump()
    ]
    assert METHODS["igd"].section == "kerhrm"


def test_tuned_files_lie_where_the_configuration_says(folder: Path, write: Write) -> None:
    write("../elsewhere/houses", {"dro": {"selected": {"rho": 3.0}}})
    experiment = resolve({"tuned": "elsewhere"}, folder).experiments["houses"]
    assert experiment.options("houses", "dro")[0]["rho"] == 3.0
