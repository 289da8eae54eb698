"""What an edit of code, configuration or data makes again: what depends on it, and no
more."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from dagtools import (
    SMOKE,
    TARGETS,
    Checkout,
    Job,
    comment,
    edited,
    names,
    replace,
    rules,
    statement,
    with_descendants,
)

pytestmark = pytest.mark.dag

PRESET = "config/presets/smoke.yaml"
DATA = "results/smoke/classification+r2=0.7"


def starts(rule: str, *parts: str) -> Callable[[Job], bool]:
    """Jobs of a rule with an output that has all these parts."""
    return lambda job: (
        job.rule == rule and any(all(p in file for p in parts) for file in job.output)
    )


def test_nothing_to_do(smoke: Checkout) -> None:
    assert smoke.plan(*TARGETS, *SMOKE) == []


@pytest.mark.parametrize(
    ("module", "among", "not_among"),
    [
        (
            "kerhrm/algorithm/mixture.py",
            {"learn_environments"},
            {"extract_features", "generate_data"},
        ),
        ("kerhrm_paper/evaluation/comparisons.py", {"make_table"}, {"score", "train"}),
        ("kerhrm_paper/runs/job.py", {"fetch_raw", "write_configuration"}, set()),
    ],
)
def test_an_edited_module_reruns_its_importers(
    smoke: Checkout, module: str, among: set[str], not_among: set[str]
) -> None:
    """Which modules a script imports is a matter of the unit tests."""
    with edited(smoke.folder / "src" / module, statement):
        planned = smoke.plan(*TARGETS, *SMOKE)
    changed = {job.rule for job in planned if "Params have changed" in job.reason}
    assert among <= changed
    assert not changed & not_among


def test_an_edited_method_reruns_its_learners(smoke: Checkout) -> None:
    with edited(smoke.folder / "src/kerhrm/methods/dro.py", statement):
        planned = smoke.plan(*TARGETS, *SMOKE)
    trained = {
        file.split("/")[3].partition("+")[0]
        for job in planned
        if job.rule == "train"
        for file in job.output
    }
    assert trained == {"dro"}
    assert not rules(planned) & {
        "generate_data",
        "extract_features",
        "learn_environments",
    }


def test_an_edited_data_set_reruns_that_data_set(smoke: Checkout) -> None:
    with edited(smoke.folder / "src/kerhrm_paper/data/classification.py", statement):
        planned = smoke.plan(*TARGETS, *SMOKE)
    changed = [job for job in planned if "Params have changed" in job.reason]
    generated = {
        job.output[0].split("/")[2].partition("+")[0]
        for job in changed
        if job.rule == "generate_data"
    }
    assert generated == {"classification"}


def reworded(text: str) -> str:
    """Other docstrings and comments; the same code."""
    return comment(re.sub(r'^"""', '"""In other words: ', text, count=1))


def test_other_words_rerun_nothing(smoke: Checkout) -> None:
    source = smoke.folder / "src" / "kerhrm"
    with ExitStack() as stack:
        for path in [
            *source.rglob("*.py"),
            *smoke.folder.glob("workflow/scripts/*.py"),
        ]:
            if path.read_text(encoding="utf-8"):
                stack.enter_context(edited(path, reworded))
        assert smoke.plan(*TARGETS, *SMOKE) == []


def test_an_edited_script_reruns_its_rule(smoke: Checkout, dag: list[Job]) -> None:
    with edited(smoke.folder / "workflow/scripts/extract_features.py", statement):
        planned = smoke.plan(*TARGETS, *SMOKE)
    assert names(planned) == with_descendants(
        dag, lambda job: job.rule == "extract_features"
    )


def test_an_option_reruns_its_learner(smoke: Checkout) -> None:
    with edited(
        smoke.folder / PRESET, replace("alpha: [0.0, 1.0]", "alpha: [0.0, 2.0]")
    ):
        planned = smoke.plan(*TARGETS, *SMOKE)
    assert any(starts("learn_direction", "/kerhrm")(job) for job in planned)
    assert not rules(planned) & {"generate_data", "extract_features"}
    assert not any(starts("train", "/eiil/")(job) for job in planned)


def test_one_data_sets_sizes_rerun_that_data_set(
    smoke: Checkout, dag: list[Job]
) -> None:
    with edited(smoke.folder / PRESET, replace("n_test: 50}", "n_test: 51}")):
        planned = smoke.plan(*TARGETS, *SMOKE)
    expected = with_descendants(
        dag,
        lambda job: (
            job.rule == "write_configuration"
            or starts("generate_data", "/regression+")(job)
        ),
    )
    assert names(planned) == expected
    assert not any("/classification" in job.name for job in planned)


def test_paper_values_rerun_tables_and_notebooks(smoke: Checkout) -> None:
    path = smoke.folder / "config" / "paper_values.yaml"
    with edited(path, replace("test_acc: 0.724", "test_acc: 0.725")):
        planned = smoke.plan(*TARGETS, *SMOKE)
    expected = {
        "make_table",
        "test_endpoints",
        "render_notebook",
        "render_report",
        "check_results",
    }
    assert rules(planned) == expected


def test_a_single_rule_is_rerun(smoke: Checkout, tmp_path: Path) -> None:
    """And gives the same bytes."""
    copy = smoke.copy(tmp_path / "copy")
    target = f"{DATA}/kerhrm/iterations/1/environments.npz"
    path = copy.folder / target
    before, time = path.read_bytes(), path.stat().st_mtime_ns
    copy.run("--force", target, *SMOKE)
    assert path.stat().st_mtime_ns > time
    assert path.read_bytes() == before


#: a table with a cell that nothing has, beside one of table 1
NEW = """tables:
  mine:
    title: Mine
    in_all: false
    select: [own, pooled, oracle, none]
    data: [classification+r2=0.7, classification+r2=0.65]
    learners: [erm, erm+learning_rate=0.5, kerhrm+k=5, eiil]
"""


def test_a_new_cell_plans_no_job_of_an_old_one(smoke: Checkout, tmp_path: Path) -> None:
    """Neither one that is asked for by its path, nor those of a table."""
    target = f"{DATA}/kerhrm+n_environments=3+alpha=0.0/scores.csv"
    planned = smoke.plan(target, *SMOKE)
    assert {job.output[0].split("/")[3] for job in planned if job.output} == {
        "kerhrm+n_environments=3+alpha=0.0"
    }
    file = tmp_path / "mine.yaml"
    file.write_text(NEW)
    planned = smoke.plan("mine", "table1", "--configfile", str(file), *SMOKE)
    made = {file for job in planned for file in job.output if file.endswith(".npz")}
    there = {str(p.relative_to(smoke.folder)) for p in smoke.folder.rglob("*.npz")}
    assert made
    assert not made & there
    assert f"{DATA}/erm+learning_rate=0.5/predictions.npz" in made
