"""What Snakemake would take and the workflow would lose, by Snakemake's own parser."""

from pathlib import Path

import pytest
from refusals import refusal
from snakemake.cli import get_argument_parser, get_profile_dir

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.command_checks import (
    check_number,
    check_options,
    check_profiles,
    check_targets,
)
from kerhrm_paper.config.command_line import CommandLine

TARGETS = ["all", "table1", "table2", "report", "own_table"]
RULES = [*TARGETS, "train", "train_network", "score"]


def command(*words: str) -> CommandLine:
    return CommandLine(words, get_argument_parser())


def check(*words: str) -> None:
    line = command(*words)
    check_options(line)
    presets = ["paper", "smoke", "fresh"]
    check_targets(line, RULES, TARGETS, "results/smoke", presets)


REFUSED = {
    "--config a=1 --config b=2": "--config is given twice",
    "--config a=1 -C b=2": "-C is given twice (as --config)",
    "--config=a=1 --config b=2": "--config is given twice",
    "-c 2 --cores 4": "--cores is given twice (as -c); write it once",
    "-c2 -c 2": "-c is given twice",
    "-d x --direc y": "--directory is given twice (as -d)",
    "--configfile a --configfiles b": "given twice",
    "all -R train -R score": "-R is given twice; write all its values after one -R",
    "all --until score --until train": "--until is given twice",
    "-R all": "snakemake all -R ...",
    "-R train table1": "snakemake table1 -R ...",
    "-n --until table1": "snakemake table1 --until ...",
    "--omit-from table1": "snakemake table1 --omit-from ...",
    "--allowed-rules train table1": "snakemake table1 --allowed-rules ...",
    "-P table1": "snakemake table1 -P ...",
    "--prioritize train report": "snakemake report --prioritize ...",
    "--cache table1": "snakemake table1 --cache ...",
    "--report table1": "snakemake table1 --report ...",
    "--generate-unit-tests all": "snakemake all --generate-unit-tests ...",
    "--wait-for-files table1": "table1 is taken for a value of --wait-for-files",
    "-R results/smoke/tables/table1.csv": "no target is left",
    "all -R trian": "-R trian: no rule has this name; did you mean 'train'?",
    "all --omit-from scroe": "--omit-from scroe",
    "all --allowed-rules scroe": "--allowed-rules scroe",
    "all --set-threads trian=2": "did you mean 'train'?",
    "all --set-resources trian:mem_mb=2": "did you mean 'train'?",
    "all --batch trian=1/2": "did you mean 'train'?",
    "all -R results/paper/a.csv": "is a file of preset paper",
    "tabel1": "target tabel1 does not exist; did you mean table1?",
    "table1,table2": "target table1,table2 does not exist; write table1 table2",
    "table1,": "did you mean table1?",
    "README.md": "--list-target-rules",
    "kerhrm+alpha=2.0": "a cell is a file, as results/PRESET/DATA/LEARNER/scores.csv",
    "regression/kerhrm+k=5": "as results/smoke/DATA/LEARNER/scores.csv",
    "table1/": "target table1/ does not exist; did you mean table1?",
    "table1 --until table2": "--until table2: table1 does not need table2",
    "table1 -O table2": "table1 does not need table2",
    "all --omit-from table1": "all does not need table1",
    "--export-cwl x.cwl table1": "--export-cwl: Snakemake writes nothing",
    "table1 -n --archive x.tar.gz": "--archive writes the archive in a dry run",
    "results/paper/tables/table1.csv": "add --config preset=paper",
    "results/other/tables/table1.csv": "lies outside this run, results/smoke",
    "mine/smoke/tables/table1.csv": "set results= and preset=",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_would_be_lost_is_refused_in_one_line(words: str) -> None:
    with pytest.raises(KerhrmError) as error:
        check(*words.split())
    assert REFUSED[words] in str(error.value)
    message = str(error.value)
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        "",
        "all",
        "-n -n all",
        "--rulegraph --config preset=smoke",
        "-d report1 all",
        "--directory tables",
        "--config preset=smoke data={a: 1} -c 2",
        "all -R train score",
        "-R train",
        "--until score",
        "table1 -R train table2",
        "table1 -R table2",
        "table1 --omit-from table1",
        "-q all",
        "--report page.html table1",
        "table1 own_table",
        "results/smoke/tables/table1.csv",
        "./results/smoke/tables/table1.csv",
        "all -R results/smoke/tables/table1.csv",
        "-- all",
        "all --set-threads train=2 score=1",
        "--profile a --profile b all",
    ],
)
def test_everything_else_is_snakemakes(words: str) -> None:
    check(*words.split())


@pytest.mark.parametrize("number", [0, -1])
def test_a_run_has_a_core(number: int) -> None:
    told = f"--cores must be at least 1; got {number}; write --cores 1, or -n"
    with refusal(told):
        check_number("--cores", number)
    for good in (1, 10**6, None):
        check_number("--cores", good)


def profiles(folder: Path, *words: str) -> None:
    check_profiles(command(*words), folder, get_profile_dir)


def test_a_profile_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("default", "slurm"):
        (tmp_path / "profiles" / name).mkdir(parents=True)
        (tmp_path / "profiles" / name / "config.yaml").write_text("cores: 1")
    for name in ("slurm", "profiles/slurm", "profiles/slurm/config.yaml", "none"):
        profiles(tmp_path, "--workflow-profile", name, "all")
    profiles(tmp_path, "--workflow-profile", "mine", "-d", "elsewhere")
    with refusal("profiles/slrum does not exist"):
        profiles(tmp_path, "--workflow-profile", "profiles/slrum")


def test_keys_of_a_profile_are_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for place in ("profiles/default", "mine"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "config.yaml").write_text("cores: 1")
    (tmp_path / "mine/config.yaml").write_text("cores: 1\nconfig: [preset=smoke]")
    for option in ("--profile", "--workflow-profile"):
        profiles(tmp_path, option, "mine", "all")
        profiles(tmp_path, option, "mine", "--configfile", "x.yaml")
        with refusal(r"--config replaces the key config of"):
            profiles(tmp_path, option, "mine", "--config", "device=cpu")
    (tmp_path / "profiles/default/config.yaml").write_text("configfiles: [a.yaml]")
    with refusal("profiles/default"):
        profiles(tmp_path, "--configfile", "x.yaml")


def test_a_file_is_written_as_the_rules_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with refusal(r"write it as results/smoke/a/b\.npz"):
        check(f"{tmp_path}/results/smoke/a/b.npz")


def test_a_rule_is_asked_for_by_name_or_by_file(tmp_path: Path) -> None:
    folder = str(tmp_path / "run" / "own_table")
    asking = (["own_table"], [f"{folder}/x.html"], ["all", "-R", "own_table"])
    for words in asking:
        assert command(*words).asks_for("own_table", folder)
    others = (["all"], [f"{tmp_path}/run/x.html"], [])
    for words in others:
        assert not command(*words).asks_for("own_table", folder)


@pytest.mark.parametrize("option", ["-R", "--until", "--omit-from", "--allowed-rules"])
def test_training_is_more_than_the_rule_train(option: str) -> None:
    """Where other rules train several learners, which would be left out."""
    together = "together_classification_erm_0a1b2c"
    line = command("all", option, "train")
    arguments = (TARGETS, "results/smoke", ["smoke"])
    check_targets(line, RULES, *arguments)
    with refusal(f"leaves out 1 rules .*or {together}"):
        check_targets(line, [*RULES, together], *arguments)
    resources = command("all", "--set-resources", "train:mem_mb=2")
    check_targets(resources, [*RULES, together], *arguments)


def test_files_of_the_run_are_known_by_their_path_in_it() -> None:
    line = command("results/smoke/a+k=1/b/scores.csv", "-R", "results/smoke/c/d.npz")
    run = "results/smoke"
    files = [str(path) for path in line.files(run)]
    assert files == ["a+k=1/b/scores.csv", "c/d.npz"]
    assert command("all", "-R", "score").files(run) == []
    assert command("other/x.csv").files(run) == []
