"""Files that are asked for by name: of cells that can be, or refused in one line."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from refusals import refusal
from small_config import A, Load
from snakemake.cli import get_argument_parser

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.command_line import CommandLine
from kerhrm_paper.config.config import Config, load_config
from kerhrm_paper.config.layout import CHECKOUT
from kerhrm_paper.config.targets import (
    check_cell_file,
    check_made,
    check_search,
    check_unchanged,
    names_data,
)
from kerhrm_paper.runs import provenance


@pytest.mark.parametrize(
    "file",
    [
        f"{A}/erm/predictions.npz",
        f"{A}/erm/scores.csv",
        f"{A}/erm+steps=3+select=oracle/predictions.npz",
        "made+r2=0.6+d=3+seeds=2/kerhrm+n_environments=3/scores.csv",
        f"{A}/kerhrm/iterations/1/environments.npz",
        f"{A}/kerhrm+n_iterations=1/iterations/1/directions.npz",
        f"{A}/kerhrm+n_iterations=100/scores.csv",
        f"{A}/data/train.npz",
        f"{A}/features/training.npz",
        "tables/one.csv",
        "report.html",
    ],
)
def test_files_of_cells_are_made(load: Load, file: str) -> None:
    check_cell_file(load(), CHECKOUT, Path(file).parts)


def test_only_a_learner_with_a_pretest_has_its_file(load: Load) -> None:
    data = {
        "title": "Made",
        "generator": "regression",
        "seeds": 1,
        "network": {"widths": [8]},
        "features": {"k": 5},
    }
    config = load({"data/tried.yaml": data})
    parts = ("tried", "kerhrm", "heterogeneity.npz")
    check_cell_file(config, CHECKOUT, parts)
    parts = ("tried", "kerhrm+pretest=none", "heterogeneity.npz")
    with refusal(r"tried/kerhrm\+pretest=none has no heterogeneity\.npz"):
        check_cell_file(config, CHECKOUT, parts)


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("maed/erm/scores.csv", "did you mean 'made'"),
        ("made+r2=0.70/erm/scores.csv", "write made+r2=0.7"),
        (f"{A}/ERM/scores.csv", "did you mean 'erm'"),
        (f"{A}/erm+stepz=3/scores.csv", "did you mean 'steps'"),
        (f"{A}/erm+steps=0/scores.csv", "steps: must be greater than 0"),
        (f"{A}/kerhrm+k=6/scores.csv", "name data with features.k=6"),
        (
            f"{A}+features.n_landmarks=4/kerhrm/scores.csv",
            "it exceeds the 4 landmarks of made+r2=0.7+features.n_landmarks=4",
        ),
        (f"{A}/erm/score.csv", "did you mean 'scores.csv'"),
        (f"{A}/erm/iterations/1/environments.npz", "its iterations are no jobs"),
        (f"{A}/kerhrm/iterations/9/environments.npz", "has no iteration 9"),
        (
            f"{A}/kerhrm+n_iterations=101/scores.csv",
            "n_iterations: each iteration is a job, of which a plan holds at most 100",
        ),
        ("made/r2=0.70/erm/predictions.npz", "no learner is called 'r2=0.70'"),
    ],
)
def test_files_of_no_cell_are_refused(load: Load, file: str, told: str) -> None:
    with pytest.raises(KerhrmError) as error:
        check_cell_file(load(), CHECKOUT, Path(file).parts)
    assert told in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.fixture(scope="module")
def smoke_config() -> Config:
    """The shipped one."""
    return load_config({"preset": "smoke"})


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("classification+r2=0.70/erm", ["write classification+r2=0.7"]),
        ("classification+r=0.7/erm", ["no option is called 'r'"]),
        ("clasification/erm", ["did you mean 'classification'"]),
        ("classification/kerhrm+k=10+k=10", ["k is given twice"]),
        ("classification/kerhrm+alpha=0.0+k=5", ["write kerhrm+k=5+alpha=0.0"]),
        ("classification/erm+rho=0.5", ["no option is called 'rho'"]),
        ("classification/erm+steps=", ["steps has no value", "a whole number"]),
        ("classification/kerhrm+n_init=0", ["n_init"]),
        ("classification/Erm", ["did you mean 'erm'"]),
        ("classification/erm+steps=" + "1" * 300, ["more than 100"]),
        ("houses/kerhrm_authors_code", ["it knows classification+r2=0.7"]),
        ("classification/kerhrm+k=60", ["name data with features.k=60"]),
    ],
)
def test_files_of_no_shipped_cell_are_refused(
    smoke_config: Config, name: str, parts: list[str]
) -> None:
    with pytest.raises(KerhrmError) as error:
        check_cell_file(smoke_config, CHECKOUT, Path(f"{name}/scores.csv").parts)
    told = str(error.value)
    assert all(part in told for part in parts), told
    assert len(told.splitlines()) == 1


@dataclass
class Rule:
    """A rule as Snakemake has it, of patterns that it makes."""

    output: tuple[str, ...]

    def is_producer(self, path: str) -> bool:
        patterns = (re.sub(r"\{.*?\}", "[^/]+", file) for file in self.output)
        return any(re.fullmatch(pattern, path) for pattern in patterns)


NAMES = {"table": ["one", "two"], "raw": ["mnist"]}
RULES = [
    Rule(("run/{data,[^/]+}/data/train.npz",)),
    Rule(("run/{table,one|two}/table.csv", "run/report.html")),
    Rule(("run/raw/{raw}.npz",)),
]


@pytest.mark.parametrize(
    "file", ["made/data/train.npz", "one/table.csv", "report.html"]
)
def test_files_that_a_rule_makes_are_taken(file: str) -> None:
    parts = Path(file).parts
    is_data = parts[0] == "made"
    check_made("run", parts, RULES, NAMES, of_data=is_data)


@pytest.mark.parametrize(
    ("file", "of_data", "near"),
    [
        ("made/data/trian.npz", True, "run/made/data/train.npz"),
        ("two/tabel.csv", False, "run/two/table.csv"),
        ("report.htm", False, "run/report.html"),
        ("raw/minst.np", False, "run/raw/mnist.npz"),
        ("made", True, "such as run/made/LEARNER/scores.csv"),
        ("made/erm", True, "such as run/made/erm/scores.csv"),
        ("made/data", True, "such as run/made/data/train.npz"),
        ("", False, "such as run/report.html"),
    ],
)
def test_files_that_no_rule_makes_are_refused(
    file: str, of_data: bool, near: str
) -> None:
    parts = Path(file).parts
    with refusal("no rule makes run") as error:
        check_made("run", parts, RULES, NAMES, of_data=of_data)
    assert near in str(error.value)


def test_a_hint_names_something_where_no_rule_makes_files_like_it() -> None:
    parts = Path("selected/made.csv").parts
    with refusal("docs/workflow.md lists the files of a run"):
        check_made("run", parts, RULES[:1], {}, of_data=False)


@pytest.mark.parametrize(
    "words", ["", "all", "select one", "report -n", "claims", "as_printed_band"]
)
def test_a_search_has_no_tables_to_ask_for(load: Load, words: str) -> None:
    command = CommandLine(words.split(), get_argument_parser())
    told = "the preset tuning has a search and no tables; write select"
    with refusal(told):
        check_search(command, load(preset="tuning"))
    check_search(command, load())


@pytest.mark.parametrize("words", ["select", "--unlock", "--list-target-rules"])
def test_a_search_is_asked_for_its_choice(load: Load, words: str) -> None:
    command = CommandLine(words.split(), get_argument_parser())
    check_search(command, load(preset="tuning"))


def test_a_name_of_data_has_options_that_there_are(load: Load) -> None:
    config = load()
    assert names_data(config, (A, "erm", "scores.csv"))
    for name in ("report.html", "made+r3=1", "selected"):
        assert not names_data(config, (name,))
    assert not names_data(config, ())


@pytest.mark.parametrize(
    "words",
    [
        ["run/tables/one.csv"],
        ["all", "--until", "run/tables/one.csv"],
        ["./run/tables/one.csv", "-n"],
    ],
)
def test_a_file_that_was_cut_is_not_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """Unless it is made again, or deleted, in any case."""
    monkeypatch.chdir(tmp_path)
    file = Path("run/tables/one.csv")
    file.parent.mkdir(parents=True)
    file.write_text("method,mean\n")
    provenance.write(Path("run"), "make_table", [file], {}, {})

    def check(*more: str) -> None:
        command = CommandLine([*words, *more], get_argument_parser())
        check_unchanged(command, "run")

    check()
    file.write_text("")
    with refusal("^run/tables/one.csv has changed since rule make_table made it; "):
        check()
    for more in (["-f"], ["-F"], ["-R", "make_table"], ["--delete-all-output"]):
        check(*more)
    check_unchanged(CommandLine(["all"], get_argument_parser()), "run")
