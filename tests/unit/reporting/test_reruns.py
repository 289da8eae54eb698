"""The share of a run's compute behind each file."""

import sys
from pathlib import Path

import pytest
import yaml

from kerhrm.reporting.reruns import HEAD, PAGE, files_of, main, shares

EXPERIMENTS = {
    "one": {
        "table": "mine",
        "notebook": "table",
        "network": {"module": None},
        "settings": {
            "a=1,b=2": {
                "data": {"generator": "classification"},
                "methods": {"kerhrm": {"invariance": {"penalty": "gradient_variance"}}},
            }
        },
    }
}
PLACE = ("one", "a=1+b=2")


def rows(markdown: str) -> list[list[str]]:
    return [[c.strip() for c in line.split("|")[1:-1]] for line in markdown.splitlines()][2:]


def test_shares_are_of_the_seconds_of_all_jobs(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    common, irm, _, hrm = (tmp_path / "room" / f"{n}.py" for n in ("common", "irm", "init", "hrm"))
    for path in (common, irm, hrm, tmp_path / "unused.py"):
        path.touch()
    elsewhere = Path("script.py")
    jobs = [({common, irm, elsewhere}, 30.0), ({common}, 69.96), ({hrm}, 0.04)]
    assert rows(shares(jobs, tmp_path)) == [
        ["room/common.py", "2", "100.0 %"],
        ["room/irm.py", "1", "30.0 %"],
        ["2 others", "", "< 0.05 % each"],
    ]


def names(rule: str, *place: str) -> set[str]:
    return {path.stem if path.stem != "train" else path.parent.name
            for path in files_of(rule, place, EXPERIMENTS)}  # fmt: skip


def test_a_job_runs_what_it_loads_by_name() -> None:
    assert {"train_method", "irm"} <= names("train_method", *PLACE, "irm")
    assert "hrm" not in names("train_method", *PLACE, "irm")
    assert "generator" in names("generate_data", *PLACE)
    assert "gradient_variance" in names("learn_direction", *PLACE, "1")
    assert {"train_method", "released"} <= names("train_on_features", *PLACE, "released")
    assert "gradient_variance" in names("train_on_features", *PLACE, "true_environments")
    assert {"render_notebook", "plots"} <= names("render_notebook", "mine")
    assert names("render_figure", "mine") == names("render_notebook", "mine")


def test_a_module_of_anothers_is_run_by_what_loads_the_network() -> None:
    module = "kerhrm.networks.examples:small_cnn"
    experiments = {"one": EXPERIMENTS["one"] | {"network": {"module": module}}}
    for rule, *place in (["extract_ntf", *PLACE], ["train_method", *PLACE, "erm"]):
        found = files_of(rule, tuple(place), experiments)
        assert "examples" in {path.stem for path in found}
        assert "examples" not in names(rule, *place)


@pytest.mark.parametrize("method", ["dro", "erm", "hrm", "iga"])
def test_a_baseline_is_run_by_its_own_jobs_alone(method: str) -> None:
    others = [m for m in ("dro", "eiil", "erm", "hrm", "iga", "irm") if m != method]
    assert all(method not in names("train_method", *PLACE, other) for other in others)


def test_the_table_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["reruns", str(tmp_path)])
    with pytest.raises(SystemExit, match="error: "):
        main()
    assert not PAGE.exists()
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"experiments": EXPERIMENTS}))
    for job, seconds in (
        ("train_method/one/a=1+b=2/erm", 10.0),
        ("train_method/one/a=1+b=2/dro", 50.0),
        ("train_method/tune-one/a=1+b=2/dro", 1000.0),
        ("select_hyperparameters/one", 1000.0),
        ("publish_controls", 1000.0),
        ("verify", 1000.0),
        ("summarise/mine", 40.0),
    ):
        path = tmp_path / "benchmarks" / f"{job}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"s\th:m:s\n{seconds}\t0:00:01\n")
    main()
    text = PAGE.read_text(encoding="utf-8")
    found = {row[0]: row[1:] for row in rows(text.removeprefix(HEAD).lstrip())}
    assert found["methods/erm/train.py"] == ["1", "10.0 %"]
    assert found["methods/dro/train.py"] == ["1", "50.0 %"]
    assert found["reporting/layout.py"] == ["1", "40.0 %"]
    assert found["errors.py"] == ["3", "100.0 %"]
