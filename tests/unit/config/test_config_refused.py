"""Every wrong configuration is refused in one line with its file and key."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from small_config import TREE, Load, write

from kerhrm.errors import KerhrmError
from kerhrm.paper.config import load_config
from kerhrm.paper.config.files import read_yaml

ALTERNATIVE = {"to": "x", "where": ["made"], "mark": "n_init=1", "set": {"n_init": 1}}
PLACE = "tables/one.yaml"
WRONG: list[tuple[str, dict[str, Any], str]] = [
    # file, what it says, the key that the error names
    ("config.yaml", {"preset": "smal"}, "preset"),
    ("config.yaml", {"nonsense": 1}, "nonsense"),
    (
        "config.yaml",
        {"erm": {"steps": 1}},
        "erm: no such key; options of a method: learners: {erm",
    ),
    (
        "learners.yaml",
        {"erm": {"loss": 1}},
        "erm.loss = 1: no such key; options of a method",
    ),
    (
        "config.yaml",
        {"device": "gpu"},
        "device = 'gpu': must be auto, cpu, cuda or cuda:N",
    ),
    ("config.yaml", {"threads": True}, "threads"),
    ("config.yaml", {"results": "a\nb"}, "results"),
    ("config.yaml", {"raw_dir": "/nowhere"}, "raw_dir"),
    ("config.yaml", {"results": "$HOME/res"}, "results = '$HOME/res': must be a path"),
    ("presets/paper.yaml", {"preset": "small"}, "preset"),
    ("presets/paper.yaml", {"data": {"made": {"seeds": 0}}}, "data.made.seeds"),
    ("data/made.yaml", {"settings": {"..": {}}}, "settings..."),
    ("data/made.yaml", {"settings": {"x" * 81: {}}}, "settings." + "x" * 81),
    ("data/made.yaml", {"settings": {"Data": {}}}, "settings.Data"),
    (
        "data/made.yaml",
        {"settings": {"a": {"options": {"r2": 2}}}},
        "settings.a.options.r2",
    ),
    ("data/made.yaml", {"generator": "clasification"}, "generator"),
    ("data/made.yaml", {"options": {"n_train_per_environment": 20000}}, "options"),
    ("data/made.yaml", {"options": {"sigma_s": float("nan")}}, "options.sigma_s"),
    ("data/made.yaml", {"seeds": [1, 1]}, "seeds"),
    (
        "data/made.yaml",
        {"seeds": {"data": [1, 2], "network": [1], "clustering": 1}},
        "seeds",
    ),
    ("data/made.yaml", {"network": {"widths": [10**9]}}, "network.widths"),
    ("data/made.yaml", {"network": {"module": "none.such:thing"}}, "network.module"),
    (
        "data/made.yaml",
        {"network": {"module": "kerhrm.networks.modules:small_cnn"}},
        "network.widths = [8]: the module kerhrm.networks.modules:small_cnn has widths",
    ),
    ("data/made.yaml", {"tuning": {"settings": ["c"]}}, "tuning.settings"),
    ("data/made.yaml", {"seeds": [100, 101]}, "tuning"),
    ("learners.yaml", {"erm": {"method": "er"}}, "erm.method"),
    ("learners.yaml", {"new": {"like": "er"}}, "new.like"),
    ("learners.yaml", {"erm": {"like": "erm_short"}}, "erm.like"),
    ("learners.yaml", {"erm": {"titles": {"modle": "x"}}}, "erm.titles"),
    ("learners.yaml", {"erm": {"options": {"step": 1}}}, "erm.options.step"),
    (
        "learners.yaml",
        {"erm": {"at": {"made/b": {"options": {"steps": 0}}}}},
        "erm.at.made/b.options.steps",
    ),
    ("learners.yaml", {"erm": {"grid": {"steps": list(range(1, 2000))}}}, "erm.grid"),
    ("learners.yaml", {"erm": {"grid": {"steps": [0]}}}, "erm.grid.steps"),
    ("learners.yaml", {"kerhrm": {"options": {"k": 81}}}, "kerhrm.options.k"),
    (
        "learners.yaml",
        {"kerhrm": {"options": {"n_init": 10**9}}},
        "kerhrm.options.n_init",
    ),
    ("learners.yaml", {"data": {"method": "erm"}}, "data"),
    ("learners.yaml", {"erm": {"mark": " "}}, "erm.mark = ' ': it is blank"),
    (PLACE, {"marks": {"erm": "\u2800"}}, "marks.erm = '\u2800': it is blank"),
    (
        "learners.yaml",
        {"erm": {"candidates": [{"steps": 3}]}},
        "erm: it has grid and candidates",
    ),
    (
        "learners.yaml",
        {
            "kerhrm": {
                "candidates": [{"k": 3}],
                "at": {"made/b": {"grid": {"alpha": [1.0]}}},
            }
        },
        "kerhrm: it has at made/b a grid and candidates",
    ),
    (
        "learners.yaml",
        {"erm": {"steps": True}},
        "erm.steps = True: steps: true needs the method kerhrm; it has erm",
    ),
    (
        "learners.yaml",
        {"new": {"like": "kerhrm", "method": "kerhrm_given_split"}},
        "new.steps: steps: true needs the method kerhrm; it has kerhrm_given_split",
    ),
    (
        "selected/made.yaml",
        {"erm": {"pooled validation": {"steps": 0}}},
        "erm.pooled validation.steps",
    ),
    (PLACE, {"settings": {"made": {}}}, "settings.made"),
    (PLACE, {"settings": {"made/c": {}}}, "settings.made/c"),
    (PLACE, {"learners": ["er"]}, "learners"),
    (PLACE, {"kind": "period"}, "kind"),
    (PLACE, {"outputs": {"erm": ["network"]}}, "outputs"),
    (
        "tables/all.yaml",
        {"title": "x", "settings": ["made/a"], "learners": ["erm"]},
        "",
    ),
    (
        "choices.yaml",
        {"start": {"alternatives": [{**ALTERNATIVE, "mark": ""}]}},
        "start.alternatives.0",
    ),
    (
        "choices.yaml",
        {"start": {"alternatives": [ALTERNATIVE, ALTERNATIVE]}},
        "start.alternatives.1",
    ),
    (
        "choices.yaml",
        {"start": {"alternatives": [{**ALTERNATIVE, "set": {"n_int": 1}}]}},
        "start.alternatives.0: options.n_int = 1",
    ),
]


@pytest.mark.parametrize(("file", "content", "key"), WRONG)
def test_a_wrong_key_is_refused_with_its_file(load: Load, file, content, key) -> None:
    with pytest.raises(KerhrmError) as error:
        load({file: content})
    text = str(error.value)
    assert text.startswith(f"config/{file}: {key}")
    assert len(text.splitlines()) == 1


def test_an_override_is_refused_as_such(load: Load) -> None:
    with pytest.raises(KerhrmError, match=r"^--config: data\.made\.options\.r2 = 3"):
        load(
            data={
                "made": {"options": {"r2": 3}, "settings": {"b": None}, "network": {}}
            },
            tables={"one": {"settings": {"made/b": None}}},
        )


def test_a_key_of_a_further_file_is_not_blamed_on_the_command_line(
    load: Load, tmp_path: Path
) -> None:
    load()
    (tmp_path / "mine.yaml").write_text("data: {made: {options: {r2: 3}}}")
    given = {"threads": 2, "data": {"made": {"options": {"sigma_s": 1.0}}}}
    with pytest.raises(KerhrmError, match=r"^mine.yaml: data\.made\.options\.r2 = 3"):
        load_config(given, [tmp_path / "mine.yaml"], root=tmp_path)


def test_a_loss_has_to_fit_the_task(load: Load) -> None:
    irm = {
        "irm": {
            "method": "irm",
            "titles": {"model": "IRM"},
            "options": {"loss": "logistic"},
        }
    }
    changes = {
        "data/made.yaml": {
            "generator": "regression",
            "options": None,
            "settings": None,
        },
        "learners.yaml": irm,
    }
    settings = {"a": {}, "b": {}}
    data = {"made": {"options": {}, "settings": settings, "more_seeds": None}}
    tables = {"other": None, "one": {"learners": ["irm"], "settings": {"made/b": None}}}
    with pytest.raises(KerhrmError, match=r"^config/learners.yaml: irm.options.loss"):
        load(changes, data=data, tables=tables, choices={"start": None})


def test_tables_do_not_mix_tasks(load: Load) -> None:
    other = {"title": "x", "generator": "regression", "seeds": 1, "settings": {"a": {}}}
    with pytest.raises(KerhrmError, match=r"tables/one.yaml: settings"):
        load({"data/other.yaml": other, PLACE: {"settings": {"other/a": {}}}})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: 1\na: 2", "line 2"),
        ("a: !!python/object/apply:os.system [ls]", "line 1"),
        ("[1, 2]: 3", "line 1"),
        ("- 1", "key: value"),
        ("a: [", "YAML"),
        ("[" * 200_000, "nested more than 50 deep"),
    ],
)
def test_only_plain_yaml_is_read(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(KerhrmError, match=told) as error:
        read_yaml(tmp_path / "x.yaml")
    assert "x.yaml: " in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"learners": {"erm": None}}, "delete learners.erm: null"),
        (
            {"data": {"made": {"options": {"n_train_per_environment": 1}}}},
            "mine.yaml: data.made.options.n_train_per_environment: with it, ",
        ),
    ],
)
def test_an_error_names_the_file_that_makes_it(
    load: Load, tmp_path: Path, content: dict[str, Any], told: str
) -> None:
    load()  # writes the small configuration, and keeps no cache
    root, mine = write(tmp_path, TREE), tmp_path / "mine.yaml"
    mine.write_text(yaml.safe_dump(content))
    with pytest.raises(KerhrmError) as error:
        load_config(files=[mine], root=root)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"seeds": 2}, "write 'data={made: {seeds: 2}}'"),
        ({"data.made.seeds": 2}, "write 'data={made: {seeds: 2}}'"),
        ({"n_seeds": 2}, "write 'data={made: {seeds: 2}}'"),
        ({"widths": [3]}, "write 'data={made: {network: {widths: [3]}}}'"),
        ({"tables": {"one": {"settings": "made/a"}}}, "must be a list; write [made/a]"),
        ({"tables": {"one": {"learners": "erm"}}}, "a valid list; write [erm]"),
        ({"data": {"made": {"settings": {"a": {"label": "A"}}}}}, "{made/a: {label:"),
        ({"tables": {"one": {"settings": {"made/*": {}}}}}, "takes no pattern"),
    ],
)
def test_a_key_in_the_wrong_place_is_told_its_own(
    load: Load, content: dict[str, Any], told: str
) -> None:
    with pytest.raises(KerhrmError) as error:
        load(**content)
    assert told in str(error.value)


def test_the_hint_of_a_misplaced_key_works(load: Load) -> None:
    seeds = load(data={"made": {"seeds": 2}}).params("made", "a")["seeds"]
    assert len(seeds["data"]) == 2
    network = load(data={"made": {"network": {"widths": [3]}}}).params("made", "a")
    assert network["network"]["widths"] == [3]


def test_a_file_is_no_folder(load: Load, tmp_path: Path) -> None:
    (tmp_path / "mnist.gz").touch()
    with pytest.raises(KerhrmError, match="it is a file; name the folder that holds"):
        load(raw_dir="mnist.gz")
    with pytest.raises(KerhrmError, match="it does not exist; correct its name"):
        load(raw_dir="mnist")
    assert load(raw_dir=str(tmp_path)).raw_dir == str(tmp_path)


@pytest.mark.parametrize(
    ("place", "hint"),
    [
        ("made/r=0.7", "did you mean 'r=0.70'?"),
        ("made/r=.700", "did you mean 'r=0.70'?"),
        ("made/r=0.6", "known are: r=0.75, r=0.70"),
        ("made/s=0.70", "did you mean 'r=0.70'?"),
    ],
)
def test_equal_numbers_are_the_nearest(load: Load, place: str, hint: str) -> None:
    """And another number is not proposed as a spelling of the given one."""
    settings = {"settings": {"r=0.75": {}, "r=0.70": {}, "x": {}}}
    with pytest.raises(KerhrmError) as error:
        load({"data/made.yaml": settings, PLACE: {"settings": {place: {}}}})
    assert error.value.hint == hint


NEW = {
    "learners.yaml": {
        "new": {
            "like": "kerhrm",
            "selected": "new",
            "mark": "new",
            "grid": {"alpha": [5.0, 7.0]},
        },
    },
    "selected/made.yaml": {"new": {"worst inferred environment": {"alpha": 7.0}}},
    PLACE: {"learners": ["erm", "new"]},
}


@pytest.mark.parametrize("preset", ["paper", "tuning"])
def test_jobs_of_single_steps_take_one_choice(load: Load, preset: str) -> None:
    """The hint works, in a search, too."""
    with pytest.raises(KerhrmError) as error:
        load(NEW, preset=preset)
    text = "config/learners.yaml: new.steps: made/a has 2 choices of its options, but "
    assert str(error.value) == f"{text}jobs of single steps take one; set steps: false"
    one = load(NEW, preset=preset, learners={"new": {"steps": False}})
    assert len(one.params("made", "a", "new")["candidates"]) == 2


def test_a_module_may_replace_widths_of_other_files(load: Load) -> None:
    """But not the other way round, nor both in one place."""
    module = {"module": "kerhrm.networks.modules:small_cnn"}
    changed = load(data={"made": {"network": module}}).params("made", "a")
    assert changed["network"]["module"] == module["module"]
    of_module = {"title": "Other", "generator": "temporal", "seeds": 1}
    of_module |= {"network": module, "settings": {"a": {}}}
    changes: dict[str, Any] = {"data/other.yaml": of_module}
    sizes = {"data": {"other": {"network": {"widths": [2]}}}}
    load(changes | {"presets/paper.yaml": sizes})
    for name, given in (("other", {}), ("made", module)):
        network = given | {"widths": [3]}
        with pytest.raises(KerhrmError, match=r"network\.widths = \[3\]: the module"):
            load(changes, data={name: {"network": network}})
