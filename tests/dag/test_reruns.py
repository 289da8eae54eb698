"""What runs again, and what does not: after nothing, after edits, and on request."""

import json
import os
from collections.abc import Callable
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
    with_descendants,
)
from expected import EXPERIMENTS, TABLES

pytestmark = pytest.mark.dag

SETTING = "results/smoke/classification/r2=0.70"
NOTHING = "Nothing to be done"
PRESET = "config/presets/smoke.yaml"
# Runs the import statements of each file named, and prints which modules that loads: an
# answer that owes nothing to the package's own import graph.
IMPORTS = """
import ast, json, sys
loaded = {}
for path in sys.argv[1:]:
    for name in [n for n in sys.modules if n.split(".")[0] == "kerhrm"]:
        del sys.modules[name]
    text = open(path, encoding="utf-8").read()
    cells = [text]
    if path.endswith(".ipynb"):
        cells = [c for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
        cells = ["".join(c["source"]) for c in cells]
    for cell in cells:
        for node in ast.parse(cell).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                exec(compile(ast.Module([node], []), path, "exec"), {})
    modules = [m.__file__ for n, m in sys.modules.items() if n.split(".")[0] == "kerhrm"]
    loaded[path] = sorted(modules)
print(json.dumps(loaded))
"""


#: Rules by the script that they run, where that has another name.
RULES = {"render_notebook": ["render_notebook", "render_figure"]}
RULES |= {"select_hyperparameters": ["select_hyperparameters", "select_by_oracle"]}


def kind(job: Job) -> str:
    """The job's rule, and the method if the rule has many."""
    return f"{job.rule}:{Path(job.output[0]).stem}" if job.rule == "train_method" else job.rule


def kinds_of(path: Path) -> list[str]:
    """Kinds of jobs that run a script or a notebook."""
    stem = path.stem
    if path.suffix == ".ipynb":
        return ["render_figure" if stem.startswith("figure") else "render_notebook"]
    if stem.startswith("train_") and stem not in ("train_network", "train_released"):
        return [f"train_method:{stem.removeprefix('train_')}"]
    return RULES.get(stem, [stem])


@pytest.fixture(scope="module")
def importers(smoke: Checkout) -> dict[str, set[str]]:
    """Kinds of jobs by the module (path below src/kerhrm) that their code imports."""
    files = [str(p) for p in sorted((smoke.folder / "workflow" / "scripts").glob("*.py"))]
    files += [str(p) for p in sorted((smoke.folder / "notebooks").glob("*.ipynb"))]
    found: dict[str, set[str]] = {}
    for file, modules in json.loads(smoke.python("-c", IMPORTS, *files)).items():
        for module in modules:
            name = Path(module).relative_to(smoke.folder / "src" / "kerhrm").as_posix()
            found.setdefault(name, set()).update(kinds_of(Path(file)))
    return found


def plan(smoke: Checkout) -> list[Job]:
    return smoke.plan(*TARGETS, *SMOKE)


def test_second_run_has_nothing_to_do(smoke: Checkout) -> None:
    assert plan(smoke) == []
    assert NOTHING in smoke.run(*TARGETS, *SMOKE)


def test_new_times_of_code_and_inputs_are_no_reason(smoke: Checkout) -> None:
    # Only the scripts' times count for Snakemake.
    for folder in ("src", "workflow/rules", "config", "notebooks"):
        for path in (smoke.folder / folder).rglob("*"):
            if path.is_file():
                os.utime(path)
    assert plan(smoke) == []


def test_one_rule_by_force(smoke: Checkout, dag: list[Job]) -> None:
    planned = smoke.plan(*TARGETS, "--forcerun", "cluster", *SMOKE)
    assert names(planned) == with_descendants(dag, lambda job: job.rule == "cluster")
    assert rules(planned) == {
        "cluster",
        "learn_invariant",
        "predict_ntf",
        "train_network",
        "score",
        "score_iterations",
        "collect_scores",
        "summarise",
        "render_notebook",
        "render_figure",
        "check_failures",
    }


@pytest.mark.parametrize("t", [2])
def test_one_iteration_by_force(smoke: Checkout, t: int) -> None:
    file = f"{SETTING}/iterations/{t}/environments.npz"
    path = smoke.folder / file
    before, time = path.read_bytes(), path.stat().st_mtime_ns
    assert names(smoke.plan(file, "--force", *SMOKE)) == {f"cluster {file}"}
    smoke.run("--force", file, *SMOKE)
    assert path.stat().st_mtime_ns > time
    assert path.read_bytes() == before
    # The same bytes are no news for the rules that read them.
    assert plan(smoke) == []


def test_an_iteration_that_is_gone_is_made_again(smoke: Checkout) -> None:
    file = f"{SETTING}/iterations/1/theta.npz"
    path = smoke.folder / file
    before = path.read_bytes()
    path.unlink()
    smoke.run(file, *SMOKE)
    assert path.read_bytes() == before
    assert plan(smoke) == []


@pytest.mark.parametrize(
    ("module", "among", "not_among"),
    [
        ("algorithm/clustering.py", {"cluster"}, {"extract_ntf", "reduce_ntf", "generate_data"}),
        ("methods/igd.py", {"train_network"}, {"cluster", "train_method:erm", "predict_ntf"}),
        ("methods/erm.py", {"train_method:erm"}, {"cluster", "train_network", "train_method:dro"}),
        ("methods/dro.py", {"train_method:dro"}, {"train_method:erm", "train_method:irm"}),
        ("methods/hrm.py", {"train_method:hrm"}, {"train_method:irm", "cluster"}),
        ("methods/released.py", {"train_released"}, {"train_method:erm", "cluster"}),
        (
            "methods/tuning.py",
            {"select_hyperparameters", "select_by_oracle"},
            {"train_method:dro", "score"},
        ),
        ("features/ntf.py", {"extract_ntf", "reduce_ntf"}, {"fetch_mnist", "summarise"}),
        ("data/classification.py", {"generate_data"}, {"fetch_mnist", "extract_ntf"}),
        ("data/raw.py", {"fetch_mnist", "fetch_houses"}, {"cluster", "train_method:erm"}),
        ("reporting/scores.py", {"score", "score_iterations"}, {"collect_scores", "train_network"}),
        ("reporting/verdicts.py", {"summarise", "render_notebook"}, {"score", "cluster"}),
        ("reporting/figures.py", {"render_figure"}, {"summarise", "score"}),
        ("workflow/job.py", {"fetch_mnist", "cluster", "summarise", "write_configuration"}, set()),
        ("config/resolve.py", set(), {"cluster", "write_configuration"}),
    ],
)
def test_an_edited_module_reruns_its_importers(
    smoke: Checkout,
    dag: list[Job],
    importers: dict[str, set[str]],
    module: str,
    among: set[str],
    not_among: set[str],
) -> None:
    mine = importers.get(module, set())
    assert among <= mine
    assert not mine & not_among
    with edited(smoke.folder / "src" / "kerhrm" / module, comment):
        planned = plan(smoke)
    assert names(planned) == with_descendants(
        dag, lambda job: bool(job.output) and kind(job) in mine
    )
    changed = {kind(job) for job in planned if "Params have changed" in job.reason}
    assert changed <= mine
    # Whoever has no job before it in the plan can have no other reason.
    made = {file for job in planned for file in job.output}
    assert changed >= {kind(job) for job in planned if job.output and made.isdisjoint(job.input)}


def test_an_edited_script_reruns_its_method(smoke: Checkout, dag: list[Job]) -> None:
    with edited(smoke.folder / "workflow" / "scripts" / "train_erm.py", comment):
        planned = plan(smoke)
    assert names(planned) == with_descendants(dag, lambda job: kind(job) == "train_method:erm")


def test_an_edited_notebook_reruns_itself(smoke: Checkout) -> None:
    change = replace("Every seed", "Each seed")
    with edited(smoke.folder / "notebooks" / "table4.ipynb", change):
        planned = plan(smoke)
    assert names(planned) == {
        "render_notebook results/smoke/notebooks/table4.ipynb",
        "check_failures results/smoke/checked.txt",
        "all",
    }


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
        planned = plan(smoke)
    assert names(planned) == with_descendants(
        dag, starts("generate_data", "/classification/r2=0.70,H=I/")
    )
    others = set(EXPERIMENTS) - {"classification"}
    assert not any(f"/{name}/" in job.name for job in planned for name in others)
    assert not any("/r2=0.70/" in job.name for job in planned)


def test_one_experiments_seeds_rerun_that_experiment(smoke: Checkout, dag: list[Job]) -> None:
    with edited(smoke.folder / PRESET, replace("seeds: 2", "seeds: 3")):
        planned = plan(smoke)
    assert names(planned) == with_descendants(dag, starts("generate_data", "/classification/"))


def test_a_methods_option_reruns_that_method(smoke: Checkout, dag: list[Job]) -> None:
    with edited(smoke.folder / PRESET, replace("penalty: [10.0]", "penalty: [20.0]")):
        planned = plan(smoke)
    assert names(planned) == with_descendants(dag, starts("train_network"))


def test_a_grid_reruns_the_search_alone(smoke: Checkout, dag: list[Job]) -> None:
    with edited(smoke.folder / PRESET, replace("weight: [1000.0, 1", "weight: [2000.0, 1")):
        planned = plan(smoke)
    assert names(planned) == with_descendants(dag, starts("train_method", "/tune-", "/irm.npz"))


@pytest.mark.parametrize("rule", ["", "-oracle"])
def test_a_tuned_choice_reruns_its_experiment_and_method(
    smoke: Checkout, dag: list[Job], rule: str
) -> None:
    """Preset smoke has the last word on steps and on oracles, but not on rho."""
    path = smoke.folder / "config" / "tuned" / f"classification{rule}.yaml"
    path.parent.mkdir(exist_ok=True)
    assert not path.exists()
    key = "oracle" if rule else "selected"
    path.write_text(f"dro: {{{key}: {{rho: 0.75, steps: 10}}}}\n", encoding="utf-8")
    try:
        planned = plan(smoke)
    finally:
        path.unlink()
    if rule:
        assert planned == []
    else:
        concerned = starts("train_method", "/classification/", "/dro.npz")
        tuning = starts("train_method", "/tune-classification/", "/dro.npz")
        assert names(planned) == with_descendants(dag, lambda j: concerned(j) or tuning(j))


def test_paper_values_rerun_tables_and_notebooks(smoke: Checkout, dag: list[Job]) -> None:
    path = smoke.folder / "config" / "paper_values.yaml"
    with edited(path, replace("test_acc: 0.724", "test_acc: 0.725")):
        planned = plan(smoke)
    assert names(planned) == with_descendants(dag, lambda job: job.rule == "summarise")
    reports = {"summarise", "render_notebook", "render_figure", "check_failures"}
    assert rules(planned) == reports
    assert len([job for job in planned if job.output]) == 2 * len(TABLES) + 1


def test_an_edit_is_really_run(smoke: Checkout, results: Path) -> None:
    target, table = "results/smoke/tables/table1.md", results / "tables" / "table1.md"
    before = table.read_bytes()
    path = smoke.folder / "src" / "kerhrm" / "reporting" / "layout.py"
    with edited(path, replace("a bound, not a result", "an edited note")):
        smoke.run(target, *SMOKE)
        assert "an edited note" in table.read_text(encoding="utf-8")
    smoke.run(target, *SMOKE)
    assert table.read_bytes() == before
    assert plan(smoke) == []
