"""Every wrong configuration is refused in one line with its file and key."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from refusals import refusal
from small_config import TREE, A, B, Load, refused, write

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.config import load_config
from kerhrm_paper.config.strict_yaml import read_yaml

ALTERNATIVE = {"to": "x", "where": ["made"], "learner": "kerhrm+n_init=1"}
CNN = "kerhrm.networks.modules:small_cnn"
ONE = "tables/one.yaml"
WRONG: list[tuple[str, dict[str, Any], str]] = [
    # file, what it says, the key that the error names
    ("config.yaml", {"preset": "smal"}, "preset"),
    ("config.yaml", {"nonsense": 1}, "nonsense"),
    (
        "config.yaml",
        {"erm": {"steps": 1}},
        "erm: no such key; options of a method: write learners: {erm: {options: ",
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
    (
        "config.yaml",
        {"results": "a\nb"},
        r"results = 'a\nb': must be a path without line breaks",
    ),
    ("config.yaml", {"raw_dir": "/nowhere"}, "raw_dir"),
    ("config.yaml", {"results": "$HOME/res"}, "results = '$HOME/res': must be a path"),
    ("presets/paper.yaml", {"preset": "small"}, "preset"),
    ("presets/paper.yaml", {"data": {"made": {"seeds": 0}}}, "data.made.seeds"),
    ("data/made.yaml", {"options": {"r2": 2}}, "options.r2 = 2: must be less than"),
    ("data/made.yaml", {"at": {B: {"options": {"d": 0}}}}, f"at.{B}.options.d = 0"),
    ("data/made.yaml", {"at": {B: {"network": {"width": [1]}}}}, f"at.{B}.network"),
    ("data/made.yaml", {"at": {"made+r2=2.0+seeds=3": {}}}, "at.made+r2=2.0+seeds=3"),
    ("data/made.yaml", {"generator": "clasification"}, "generator"),
    ("data/made.yaml", {"options": {"sigma_s": float("nan")}}, "options.sigma_s"),
    ("data/made.yaml", {"seeds": [1, 1]}, "seeds = [1, 1]: must be a valid integer"),
    ("data/made.yaml", {"seeds": {"made": 0}}, "seeds.made = 0: must be greater"),
    ("data/made.yaml", {"seeds": {"made": True}}, "seeds.made = True: write a number"),
    ("data/made.yaml", {"seeds": "two"}, "seeds = 'two': must be a valid integer"),
    ("data/made.yaml", {"network": {"widths": [10**9]}}, "network.widths"),
    ("data/made.yaml", {"network": {"module": "none.such:thing"}}, "network.module"),
    (
        "data/made.yaml",
        {"network": {"module": CNN}},
        f"network.widths = [8]: the module {CNN} has widths",
    ),
    ("data/made.yaml", {"features": {"k": 0}}, "features.k = 0"),
    ("data/made.yaml", {"tuning": {"data": []}}, "tuning.data"),
    ("data/made.yaml", {"tuning": {"data": [A, A]}}, "tuning.data"),
    ("data/made.yaml", {"tuning": {"seeds": 0}}, "tuning.seeds"),
    ("learners.yaml", {"erm": {"method": "er"}}, "erm.method"),
    ("learners.yaml", {"erm": {"titles": {"modle": "x"}}}, "erm.titles"),
    ("learners.yaml", {"erm": {"titles": {"model": None}}}, "erm.titles"),
    ("learners.yaml", {"erm": {"options": {"step": 1}}}, "erm.options.step"),
    (
        "learners.yaml",
        {"erm": {"at": {B: {"options": {"steps": 0}}}}},
        f"erm.at.{B}.options.steps",
    ),
    ("learners.yaml", {"erm": {"grid": {"steps": [0]}}}, "erm.grid.steps"),
    ("learners.yaml", {"erm": {"grid": {"steps": []}}}, "erm.grid.steps"),
    ("learners.yaml", {"kerhrm": {"options": {"k": 81}}}, "kerhrm.options.k"),
    (
        "learners.yaml",
        {"kerhrm": {"options": {"k": 6}}},
        f"kerhrm.options.k = 6: {B} has 5 features; name kerhrm+k=5, or lower it in a ",
    ),
    (
        "learners.yaml",
        {"kerhrm": {"options": {"n_environments": 81}}},
        "kerhrm.options.n_environments = 81: it exceeds n=80 points",
    ),
    (
        "learners.yaml",
        {"kerhrm": {"options": {"n_init": 10**9}}},
        "kerhrm.options.n_init",
    ),
    ("learners.yaml", {"data": {"method": "erm"}}, "data"),
    (
        "learners.yaml",
        {"erm": {"candidates": [{"steps": 3}]}},
        "erm: it has grid and candidates",
    ),
    (
        "learners.yaml",
        {"kerhrm": {"at": {B: {"candidates": [{"k": 3}], "grid": {"alpha": [1.0]}}}}},
        f"kerhrm: it has at {B} a grid and candidates",
    ),
    (
        "learners.yaml",
        {"erm": {"checkpoint_iterations": True}},
        "erm.checkpoint_iterations = True: checkpoint_iterations needs the method "
        "kerhrm; it has erm",
    ),
    (
        "learners.yaml",
        {"kerhrm": {"method": "kerhrm_given_split"}},
        "kerhrm.checkpoint_iterations = True: checkpoint_iterations needs the method "
        "kerhrm; it has kerhrm_given_split",
    ),
    (
        "selected/made.yaml",
        {"erm": {"pooled": {"steps": 0}}},
        "erm.pooled.steps",
    ),
    (ONE, {"data": {"maed": {}}}, "data.maed"),
    (ONE, {"data": {"made+r2=0.80": {}}}, "data.made+r2=0.80"),
    (ONE, {"learners": ["er"]}, "learners = ['er']"),
    (ONE, {"learners": ["erm", "erm"]}, "learners"),
    (ONE, {"select": ["oracel"]}, "select"),
    (ONE, {"kind": "period"}, "kind"),
    (ONE, {"seeds": 0}, "seeds"),
    (ONE, {"outputs": {"erm": ["network"]}}, "outputs"),
    ("tables/all.yaml", {"title": "x", "data": [A], "learners": ["erm"]}, ""),
    ("tables/new.yaml", {"title": "x", "data": [A]}, f"data.{A}: it has no learners"),
    ("tables/new.yaml", {"title": "x", "data": []}, "data"),
    (
        "choices.yaml",
        {"start": {"alternatives": [{"to": "x", "where": ["made"]}]}},
        "start.alternatives.0",
    ),
    (
        "choices.yaml",
        {"start": {"alternatives": [{"to": "x", "learner": "kerhrm+n_init=1"}]}},
        "start.alternatives.0.where",
    ),
    (
        "choices.yaml",
        {"start": {"alternatives": [ALTERNATIVE, ALTERNATIVE]}},
        "start.alternatives.1",
    ),
    (
        "choices.yaml",
        {"start": {"alternatives": [{**ALTERNATIVE, "learner": "kerhrm+n_int=1"}]}},
        "start.alternatives.0.learner = 'kerhrm+n_int=1': kerhrm+n_int=1: no option",
    ),
    (
        "choices.yaml",
        {"start": {"alternatives": [{"to": "x", "data": "made+n_tset=1"}]}},
        "start.alternatives.0.data = 'made+n_tset=1': made+n_tset=1: no option",
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
    with refusal(r"^--config: data\.made\.options\.r2 = 3"):
        load(data={"made": {"options": {"r2": 3}}})


def test_a_key_of_a_further_file_is_not_blamed_on_the_command_line(
    load: Load, tmp_path: Path
) -> None:
    load()
    (tmp_path / "mine.yaml").write_text("data: {made: {options: {r2: 3}}}")
    options = {"sigma_s": 1.0}
    given = {"threads": 2, "data": {"made": {"options": options}}}
    with refusal(r"^mine.yaml: data\.made\.options\.r2 = 3"):
        load_config(given, [tmp_path / "mine.yaml"], root=tmp_path)


def test_a_loss_has_to_fit_the_task(load: Load) -> None:
    irm = {
        "method": "irm",
        "titles": {"model": "IRM"},
        "options": {"loss": "logistic"},
    }
    regression = {"title": "R", "generator": "regression", "seeds": 1}
    table = {"title": "T", "data": ["houses"], "learners": ["irm"]}
    changes = {
        "data/houses.yaml": regression,
        "learners.yaml": {"irm": irm},
        "tables/new.yaml": table,
    }
    with refusal(r"^config/learners.yaml: irm.options.loss"):
        load(changes)


def test_tables_do_not_mix_tasks(load: Load) -> None:
    other = {"title": "x", "generator": "regression", "seeds": 1}
    with refusal(r"tables/one.yaml: data: it mixes class"):
        load({"data/other.yaml": other, ONE: {"data": {"other": {}}}})


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
    with refusal(told) as error:
        read_yaml(tmp_path / "x.yaml")
    assert "x.yaml: " in str(error.value)
    message = str(error.value)
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"learners": {"erm": None}}, "delete learners.erm: null"),
        (
            {"data": {"made": {"options": {"n_train_per_environment": 1}}}},
            "mine.yaml: data.made.options.n_train_per_environment: with it, ",
        ),
        (  # the one of many keys that is wrong
            {
                "seed_offset": 3,
                "learners": {
                    "erm": None,
                    "mine": {"method": "erm", "titles": {"model": "Mine"}},
                },
                "data": {"made": {"seeds": 2}},
            },
            "mine.yaml: learners.erm: with it, ",
        ),
    ],
)
def test_an_error_names_the_file_that_makes_it(
    load: Load, tmp_path: Path, content: dict[str, Any], told: str
) -> None:
    load()  # writes the small configuration
    root, mine = write(tmp_path, TREE), tmp_path / "mine.yaml"
    mine.write_text(yaml.safe_dump(content))
    with pytest.raises(KerhrmError) as error:
        load_config(files=[mine], root=root)
    assert told in str(error.value)


def test_a_file_of_the_repository_that_does_not_fit_can_be_left_out(
    tmp_path: Path,
) -> None:
    mine = tmp_path / "mine.yaml"
    module = "kerhrm.networks.modules:small_cnn"
    table = {"title": "Mine", "data": ["classification"], "learners": ["erm"]}
    content: dict[str, Any] = {
        "data": {"classification": {"network": {"module": module}}},
        "tables": {"mine": table},
    }
    mine.write_text(yaml.safe_dump(content))
    with pytest.raises(KerhrmError) as error:
        load_config(files=[mine])
    message = str(error.value)
    assert "mine.yaml: data.classification.network.module: with it, " in message
    assert message.endswith("leave out what it does not fit: choices.layers: null")
    content["choices"] = {"layers": None}
    mine.write_text(yaml.safe_dump(content))
    config = load_config(files=[mine])
    assert config.data("classification").network.module == module


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"seeds": 2}, "write 'data={made: {seeds: 2}}'"),
        ({"data.made.seeds": 2}, "write 'data={made: {seeds: 2}}'"),
        ({"n_seeds": 2}, "write 'data={made: {seeds: 2}}'"),
        ({"widths": [3]}, "write 'data={made: {network: {widths: [3]}}}'"),
        ({"tables": {"one": {"data": "made"}}}, "must be a list; write [made]"),
        ({"tables": {"one": {"learners": "erm"}}}, "a valid list; write [erm]"),
        ({"data": {"made": {"label": "A"}}}, "{made: {label:"),
    ],
)
def test_a_key_in_the_wrong_place_is_told_its_own(
    load: Load, content: dict[str, Any], told: str
) -> None:
    with pytest.raises(KerhrmError) as error:
        load(**content)
    assert told in str(error.value)


def test_the_hint_of_a_misplaced_key_works(load: Load) -> None:
    config = load(data={"made": {"seeds": 2}})
    assert len(config.data(A).seeds) == 2
    config = load(data={"made": {"network": {"widths": [3]}}})
    network = config.data(A).network
    assert network.widths == [3]


def test_a_file_is_no_folder(load: Load, tmp_path: Path) -> None:
    (tmp_path / "mnist.gz").touch()
    with refusal("it is a file; name the folder that holds"):
        load(raw_dir="mnist.gz")
    with refusal("it does not exist; correct its name"):
        load(raw_dir="mnist")
    config = load(raw_dir=str(tmp_path))
    assert config.raw_dir == str(tmp_path)


def test_a_module_may_replace_widths_of_other_files(load: Load) -> None:
    """But not the other way round, nor both in one place."""
    module = {"module": CNN}
    fewer = {"tables": {"other": None}, "choices": {"start": None}}
    made = {"network": module, "at": {B: None}}
    changed = load(data={"made": made}, **fewer)
    assert changed.data(A).network.module == CNN
    of_module = {"title": "Other", "generator": "temporal", "seeds": 1}
    of_module |= {"network": module}
    table = {"title": "T", "data": ["other"], "learners": ["erm+select=none"]}
    changes: dict[str, Any] = {"data/other.yaml": of_module, "tables/new.yaml": table}
    network_of_preset = {"widths": [2]}
    sizes = {"data": {"other": {"network": network_of_preset}}}
    load(changes | {"presets/paper.yaml": sizes})
    networks: dict[str, Any] = {"other": {}, "made": module}
    for name, given in networks.items():
        network = given | {"widths": [3]}
        with refusal(r"network\.widths = \[3\]: the module"):
            load(changes, data={name: {"network": network}})


@pytest.mark.parametrize(
    "data", [[{A: {"label": "x"}}], [[A]], [1], [None], [{"made": None}]]
)
def test_data_of_a_table_are_names_or_a_mapping(load: Load, data: Any) -> None:
    error = refused(load, {"tables": {"one": {"data": data}}})
    assert str(error).startswith("mine.yaml: tables.one.data = ")
    assert error.hint == "write DATA: {label: TEXT} without a dash"


def test_choices_need_an_alternative_on_the_data(load: Load) -> None:
    other = TREE["data/made.yaml"] | {"at": {}, "tuning": None}
    table = {
        "title": "T",
        "data": ["new"],
        "learners": ["erm"],
        "choices": ["erm"],
    }
    content = {"data": {"new": other}, "tables": {"three": table}}
    error = refused(load, content)
    assert str(error).startswith("mine.yaml: tables.three.choices = ['erm']: ")
    assert "no alternative of choices.yaml is measured on new" in str(error)


@pytest.mark.parametrize(
    ("table", "file", "told"),
    [
        ("one", "none.csv.gz", "published.one = 'none.csv.gz': there is no such file"),
        ("onee", "there.csv.gz", "no table is called 'onee'; did you mean 'one'?"),
        ("one", ".", "there is no such file"),
        ("one", "there.csv", "it is no file of scores; give the path of a run's"),
    ],
)
def test_published_scores_are_files_of_tables(
    load: Load,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    table: str,
    file: str,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("there.csv", "there.csv.gz"):
        (tmp_path / name).touch()
    load(published={"one": "there.csv.gz"})
    with refusal(re.escape(told)):
        load(published={table: file})
