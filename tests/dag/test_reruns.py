"""What runs again, and what does not: after nothing, on request, after another configuration."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from dagtools import (
    SMOKE,
    TARGETS,
    Checkout,
    Job,
    edited,
    names,
    replace,
    rules,
    with_descendants,
)
from expected import TABLES, TUNED

from kerhrm.config.names import folder_of
from kerhrm.methods.registry import POOLED

pytestmark = pytest.mark.dag

SETTING = "results/smoke/classification/r2=0.70"
NOTHING = "Nothing to be done"
PRESET = "config/presets/smoke.yaml"


def test_second_run_has_nothing_to_do(smoke: Checkout) -> None:
    assert smoke.plan(*TARGETS, *SMOKE) == []
    assert NOTHING in smoke.run(*TARGETS, *SMOKE)


def test_new_times_of_code_and_inputs_are_no_reason(smoke: Checkout) -> None:
    # Only the scripts' times count for Snakemake.
    for folder in ("src", "workflow/rules", "config", "notebooks"):
        for path in (smoke.folder / folder).rglob("*"):
            if path.is_file():
                os.utime(path)
    assert smoke.plan(*TARGETS, *SMOKE) == []


def test_one_rule_by_force(smoke: Checkout, dag: list[Job]) -> None:
    planned = smoke.plan(*TARGETS, "--forcerun", "learn_environments", *SMOKE)
    assert names(planned) == with_descendants(dag, lambda job: job.rule == "learn_environments")
    assert rules(planned) == {
        "learn_environments",
        "learn_direction",
        "predict_ntf",
        "train_network",
        "score",
        "collect_scores",
        "summarise",
        "render_notebook",
        "render_figure",
        "render_variants",
        "check_failures",
    }


def test_one_iteration_by_force(smoke: Checkout) -> None:
    file = f"{SETTING}/iterations/2/environments.npz"
    path = smoke.folder / file
    before, time = path.read_bytes(), path.stat().st_mtime_ns
    assert names(smoke.plan(file, "--force", *SMOKE)) == {f"learn_environments {file}"}
    smoke.run("--force", file, *SMOKE)
    assert path.stat().st_mtime_ns > time
    assert path.read_bytes() == before
    # The same bytes are no news for the rules that read them.
    assert smoke.plan(*TARGETS, *SMOKE) == []


def test_an_iteration_that_is_gone_is_made_again(smoke: Checkout) -> None:
    file = f"{SETTING}/iterations/1/theta.npz"
    path = smoke.folder / file
    before = path.read_bytes()
    path.unlink()
    smoke.run(file, *SMOKE)
    assert path.read_bytes() == before
    assert smoke.plan(*TARGETS, *SMOKE) == []


def starts(rule: str, *parts: str) -> Callable[[Job], bool]:
    """Jobs of a rule with all these parts in their output, and the resolved configuration."""

    def concerned(job: Job) -> bool:
        if job.rule == "write_configuration":
            return True
        return job.rule == rule and all(part in job.output[0] for part in parts)

    return concerned


def test_one_settings_data_rerun_that_setting(smoke: Checkout, dag: list[Job]) -> None:
    path = smoke.folder / "config" / "experiments" / "classification.yaml"
    with edited(path, replace("data: {r2: 0.70, scramble", "data: {r2: 0.71, scramble")):
        planned = smoke.plan(*TARGETS, *SMOKE)
    assert names(planned) == with_descendants(
        dag, starts("generate_data", "/classification/r2=0.70+H=I/")
    )
    assert not any("/r2=0.70/" in job.name for job in planned)


def test_one_experiments_seeds_rerun_that_experiment(smoke: Checkout, dag: list[Job]) -> None:
    change = replace("regression:\n    seeds: 2", "regression:\n    seeds: 3")
    with edited(smoke.folder / PRESET, change):
        planned = smoke.plan(*TARGETS, *SMOKE)
    expected = with_descendants(dag, starts("generate_data", "results/smoke/regression/"))
    assert names(planned) == expected
    # The experiment's own jobs, and the reports at the end.
    assert not any(f"/{name}/" in job.name for job in planned for name in ("clusters", "houses"))


def test_a_methods_option_reruns_that_method(smoke: Checkout, dag: list[Job]) -> None:
    with edited(smoke.folder / PRESET, replace("penalty: [10.0]", "penalty: [20.0]")):
        planned = smoke.plan(*TARGETS, *SMOKE)
    # it stands there for all three; an option set of the search has a lambda of its own
    concerned = [starts("train_network"), starts("train_whole", "/per_seed.npz")]
    concerned.append(starts("train_whole", "/literal.npz"))
    expected = with_descendants(dag, lambda job: any(one(job) for one in concerned))
    assert names(planned) == expected


def test_a_grid_reruns_the_search_and_what_an_oracle_may_choose(
    smoke: Checkout, dag: list[Job]
) -> None:
    """Where the search does not look, methods are trained with what was chosen alone."""
    change = replace("grid: {steps: [10, 20]}", "grid: {steps: [11, 20]}")
    with edited(smoke.folder / PRESET, change):
        planned = smoke.plan(*TARGETS, *SMOKE)
    places = [f"/tune-{name}/" for name in TUNED]
    for name, one in TUNED.items():
        assert one.tuning
        places += [f"/{name}/{folder_of(setting)}/" for setting in one.tuning.settings]
    # it stands there for both
    erm, grayscale = (starts("train_method", f"/{name}.npz") for name in ("erm", "grayscale"))

    def concerned(job: Job) -> bool:
        if job.rule == "write_configuration":
            return True
        trained = erm(job) or grayscale(job)
        return trained and any(place in job.output[0] for place in places)

    assert names(planned) == with_descendants(dag, concerned)
    assert any("/r2=0.70+H=I/" in job.name for job in dag if erm(job))
    assert not any("/r2=0.70+H=I/" in job.name for job in planned)


def test_one_methods_options_in_a_file_of_ones_own(
    smoke: Checkout, dag: list[Job], tmp_path: Path
) -> None:
    """It reruns that method; in one experiment, what would run fits on a page or two."""
    change = {"methods": {"irm": {"selected": {"weight": 5000.0}}}}
    mine = tmp_path / "mine.yaml"
    options = ("--configfile", str(mine), *SMOKE)
    concerned = starts("train_method", "/irm.npz")
    mine.write_text(yaml.safe_dump(change))
    expected = with_descendants(dag, lambda j: concerned(j) and "/tune-" not in j.name)
    assert names(smoke.plan("all", *options)) == expected

    mine.write_text(yaml.safe_dump({"experiments": {"colored_mnist": change}}))
    concerned = starts("train_method", "/colored_mnist/", "/irm.npz")
    assert names(smoke.plan("all", *options)) == with_descendants(dag, concerned)
    lines = smoke.run("--dry-run", "all", *options).splitlines()
    assert len(lines) < 100
    assert any("IRM" in line or "irm" in line for line in lines)


@pytest.mark.parametrize(
    ("method", "rule", "options"),
    [
        ("dro", None, {"rho": 0.75, "steps": 7}),
        ("irm", POOLED, {"weight": 77.0, "steps": 7}),
        ("kerhrm_grid", POOLED, {"alpha": 0.5}),
    ],
)
def test_a_tuned_choice_reruns_its_experiment_and_method(
    smoke: Checkout, dag: list[Job], method: str, rule: str | None, options: dict[str, float]
) -> None:
    """The search tries values of its own, so that it does not follow its choice."""
    path = smoke.folder / "config" / "tuned" / "classification.yaml"
    tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    chosen = tree[method]["selected"] if rule is None else tree[method]["rules"][rule]
    chosen |= options
    with edited(path, lambda _: yaml.safe_dump(tree)):
        planned = smoke.plan(*TARGETS, *SMOKE)
    trains = {"kerhrm_grid": "train_whole"}.get(method, "train_method")
    concerned = starts(trains, "/classification/", f"/{method}.npz")
    assert names(planned) == with_descendants(dag, concerned)


def test_how_long_to_train_is_the_presets_word(smoke: Checkout) -> None:
    path = smoke.folder / "config" / "tuned" / "classification.yaml"
    tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    tree["dro"]["selected"]["steps"] = tree["irm"]["rules"][POOLED]["steps"] = 7
    with edited(path, lambda _: yaml.safe_dump(tree)):
        assert smoke.plan(*TARGETS, *SMOKE) == []


def test_paper_values_rerun_tables_and_notebooks(smoke: Checkout, dag: list[Job]) -> None:
    path = smoke.folder / "config" / "paper_values.yaml"
    with edited(path, replace("test_acc: 0.724", "test_acc: 0.725")):
        planned = smoke.plan(*TARGETS, *SMOKE)
    assert names(planned) == with_descendants(dag, lambda job: job.rule == "summarise")
    reports = {"summarise", "render_notebook", "render_figure", "render_variants", "check_failures"}
    assert rules(planned) == reports
    assert len([job for job in planned if job.output]) == 2 * len(TABLES) + 1
