"""The command ``kerhrm options``: what a name can say, as the classes declare it."""

import re
from pathlib import Path

import pytest
from refusals import refusal

from kerhrm.algorithm.registry import PENALTIES
from kerhrm.cli import main
from kerhrm.options import Options
from kerhrm_paper.config.config import Config, load_config
from kerhrm_paper.config.data_cells import values_by_key
from kerhrm_paper.config.values import spell_value
from kerhrm_paper.reporting.option_list import table

ROOT = Path(__file__).parents[3]


def test_a_preset_that_is_none_is_told_by_the_option_that_was_typed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["options", "kerhrm", "--preset", "smok"]) == 1
    told = "--preset: no preset is called 'smok'; did you mean 'smoke'?"
    assert capsys.readouterr().err == f"kerhrm: error: {told}\n"


@pytest.fixture(scope="module")
def config() -> Config:
    return load_config({"preset": "paper"}, root=ROOT)


@pytest.mark.parametrize(
    "name", ["kerhrm", "classification", "kerhrm+k=10", "irm", "regression"]
)
def test_every_option_has_a_line_and_its_value_is_a_name(
    config: Config, name: str
) -> None:
    """With the default, or of data the value in force, unless a name cannot give it."""
    schemas = config.resolved.resolver.schemas
    base, *_ = name.split("+")
    if base in config.data_sets:
        schema = schemas.data_schema(base)
        parse = schemas.parse_data
        of_data = values_by_key(config.resolved.resolver.data(name))
    else:
        of_data = {}
        schema = schemas.learner_schema(base)
        parse = schemas.parse_learner
    _, *lines = table(config, name).splitlines()
    assert len(lines) == len(schema)
    for key, line in zip(schema, lines, strict=True):
        (default,) = re.findall(rf"^  \+{re.escape(key)}=(\S+) ", line)
        given = of_data.get(key, schema[key].default)
        if default == "VALUE":  # a group, or None that has no spelling
            assert isinstance(given, Options) or given is None, key
            continue
        value = list(given) if isinstance(given, tuple) else given
        assert parse(f"{base}+{key}={default}") == (base, {key: value})


def test_of_a_cell_values_in_force_are_shown() -> None:
    """From the preset, from files for these data, from the name, and defaults."""
    config = load_config({"preset": "smoke"}, root=ROOT)
    cell = "classification+r2=0.7/kerhrm+alpha=4.0"
    learner = config.learner(*cell.split("/"))
    text = table(config, cell)
    for key in ("k", "alpha", "ridge"):
        (value,) = re.findall(rf"^  \+{key}=(\S+) ", text, flags=re.MULTILINE)
        assert value == spell_value(getattr(learner.options, key))
    assert "+alpha=4.0 " in text
    assert learner.options.k != type(learner.options).model_fields["k"].default
    of_data = table(config, "classification+r2=0.6")
    assert "+r2=0.6 " in of_data
    widths = config.resolved.resolver.data("classification").network.widths
    assert f"+network.widths={spell_value(widths)} " in of_data


def test_types_ranges_and_meanings_are_shown(config: Config) -> None:
    text = table(config, "kerhrm")
    (line,) = (one for one in text.splitlines() if one.startswith("  +min_share="))
    assert "a number, >= 0, <= 1" in line
    assert line.endswith("below: an environment counts as empty and is dropped")
    assert "one of soft, hard" in text


def test_without_a_name_all_are_listed(
    config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["options"]) == 0
    words = capsys.readouterr().out.split()
    every = set(config.data_sets)
    every |= set(config.learners)
    every |= set(config.tables)
    assert every <= set(words)


def test_penalties_are_listed(config: Config) -> None:
    (line,) = (x for x in table(config, "kerhrm").splitlines() if "+penalty=" in x)
    assert all(name in line for name in PENALTIES)


def test_a_table_names_what_has_options(config: Config) -> None:
    hint = "ask for its data, classification, or its learners, erm, "
    with refusal(f"'table1' is a table, and has no options; {hint}.*kerhrm"):
        table(config, "table1")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("kerhrm+bogus=1", "kerhrm+bogus=1: no option is called 'bogus'"),
        ("kerhrm+k=0", "kerhrm+k=0: k: must be greater than 0"),
        ("irm+steps=0+select=none", "select=none: steps: must be greater than 0"),
        ("kerhrm+pretest.level=7.0", "pretest.level: must be less than"),
        ("classification+r2=2.0", "r2: must be less than or equal to 1"),
        ("classification+r2=0.70", "write classification+r2=0.7"),
    ],
)
def test_a_name_with_options_is_read_whole(
    config: Config, name: str, told: str
) -> None:
    with refusal(re.escape(told)):
        table(config, name)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "results/smoke/classification+r2=0.6/kerhrm/scores.csv",
            "scores.csv' is not a cell; ask for classification+r2=0.6/kerhrm",
        ),
        (
            "kerhrm+k=3/classification",
            "'kerhrm+k=3/classification' is not a cell; "
            "ask for classification/kerhrm+k=3",
        ),
        (
            "results/smoke/classification/data/train.npz",
            "is a path; ask for classification",
        ),
        ("classification/", "'classification/' is a path; ask for classification"),
        (
            "results/smoke/report.html",
            "called 'results/smoke/report.html'; without a name all are listed",
        ),
        (
            "/",
            "no learner and no data set is called '/'; without a name all are listed",
        ),
    ],
)
def test_a_path_names_data_and_a_learner(config: Config, name: str, told: str) -> None:
    with refusal(re.escape(told) + "$"):
        table(config, name)


@pytest.mark.parametrize("command", ["options", "cost"])
@pytest.mark.parametrize(
    "name",
    [
        "erm",
        "classification+r2=0.7",
        "kerhrm+alpha=0.1",
        "results/smoke/classification+r2=0.6/erm/nothing.csv",
    ],
)
def test_a_name_behind_a_file_is_told_to_stand_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, name: str
) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("{}")
    assert main([command, "--configfile", str(mine), name]) == 1
    told = f"--configfile: {name} does not exist; write names before the options"
    assert told in capsys.readouterr().err
    assert main(["options", "erm", "--configfile", str(mine)]) == 0


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("scores.csv", b"seed,metric\n1,a: b: c\n"),
        ("scores.csv", b"seed,metric\n"),
        ("predictions.npz", b"PK\x03\x04\xff\xfe"),
    ],
)
def test_a_file_of_a_run_behind_a_file_is_told_to_stand_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, content: bytes
) -> None:
    mine, path = tmp_path / "mine.yaml", tmp_path / file
    mine.write_text("{}")
    path.write_bytes(content)
    assert main(["cost", "--configfile", str(mine), str(path)]) == 1
    error = capsys.readouterr().err
    assert re.search(rf"--configfile: .*{file}: .*; write names before", error)


def test_a_file_is_named_by_the_ending_of_yaml(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing one is no name; a mapping is read under any ending."""
    assert main(["options", "erm", "--configfile", str(tmp_path / "mine.yml")]) == 1
    told = "mine.yml: No such file or directory; give the path of a YAML file"
    assert told in capsys.readouterr().err
    mine = tmp_path / "mine.cfg"
    mine.write_text("device: cpu\n")
    assert main(["options", "erm", "--configfile", str(mine)]) == 0


def test_an_unknown_name_is_one_line(
    config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    with refusal("called 'kerhrn'; did you mean 'kerhrm'"):
        table(config, "kerhrn")
    with refusal("called ''; write LEARNER\\+option=value, or DATA"):
        table(config, "+k=3")
    assert main(["options", "clasification"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    with refusal("add --configfile FILE for your own"):
        table(config, "flipped")
