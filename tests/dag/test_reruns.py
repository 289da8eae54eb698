"""What runs again, and what does not: after nothing, after edits, and on request."""

import json
import os
from pathlib import Path

import pytest
from dagtools import (
    SMOKE,
    Checkout,
    Job,
    comment,
    edited,
    names,
    replace,
    rules,
    with_descendants,
)

pytestmark = pytest.mark.dag

SETTING = "results/smoke/classification/r2=0.70"
NOTHING = "Nothing to be done"
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


@pytest.fixture(scope="module")
def importers(smoke: Checkout) -> dict[str, set[str]]:
    """Rules by the module (path below src/kerhrm) that their code imports."""
    files = [str(p) for p in sorted((smoke.folder / "workflow" / "scripts").glob("*.py"))]
    files += [str(p) for p in sorted((smoke.folder / "notebooks").glob("*.ipynb"))]
    found: dict[str, set[str]] = {}
    for file, modules in json.loads(smoke.python("-c", IMPORTS, *files)).items():
        rule = "render_notebook" if file.endswith(".ipynb") else Path(file).stem
        for module in modules:
            name = Path(module).relative_to(smoke.folder / "src" / "kerhrm").as_posix()
            found.setdefault(name, set()).add(rule)
    return found


def test_second_run_has_nothing_to_do(smoke: Checkout) -> None:
    assert NOTHING in smoke.run("all", *SMOKE)


def test_new_times_of_code_and_inputs_are_no_reason(smoke: Checkout) -> None:
    # Only the scripts' times count for Snakemake.
    for folder in ("src", "workflow/rules", "config", "notebooks"):
        for path in (smoke.folder / folder).rglob("*"):
            if path.is_file():
                os.utime(path)
    assert NOTHING in smoke.run("all", *SMOKE)


def test_one_rule_by_force(smoke: Checkout, dag: list[Job]) -> None:
    planned = smoke.plan("all", "--forcerun", "cluster", *SMOKE)
    assert names(planned) == with_descendants(dag, lambda job: job.rule == "cluster")
    assert rules(planned) == {
        "cluster",
        "learn_invariant",
        "predict_ntf",
        "train_network",
        "score",
        "collect_scores",
        "report_restarts",
        "summarise",
        "render_notebook",
    }


@pytest.mark.parametrize("t", [1, 2])
def test_one_iteration_by_force(smoke: Checkout, t: int) -> None:
    file = f"{SETTING}/iterations/{t}/environments.npz"
    path = smoke.folder / file
    before, time = path.read_bytes(), path.stat().st_mtime_ns
    assert names(smoke.plan(file, "--force", *SMOKE)) == {f"cluster {file}"}
    smoke.run("--force", file, *SMOKE)
    assert path.stat().st_mtime_ns > time
    assert path.read_bytes() == before
    # The same bytes are no news for the rules that read them.
    assert NOTHING in smoke.run("all", *SMOKE)


def test_an_iteration_that_is_gone_is_made_again(smoke: Checkout) -> None:
    file = f"{SETTING}/iterations/1/theta.npz"
    path = smoke.folder / file
    before = path.read_bytes()
    path.unlink()
    smoke.run(file, *SMOKE)
    assert path.read_bytes() == before
    assert NOTHING in smoke.run("all", *SMOKE)


@pytest.mark.parametrize(
    ("module", "among", "not_among"),
    [
        ("algorithm/clustering.py", {"cluster"}, {"extract_ntf", "reduce_ntf", "generate_data"}),
        ("methods/igd.py", {"train_network"}, {"cluster", "train_erm", "predict_ntf"}),
        ("methods/erm.py", {"train_erm"}, {"cluster", "train_network", "predict_ntf"}),
        ("features/ntf.py", {"extract_ntf", "reduce_ntf"}, {"generate_data", "score"}),
        ("data/classification.py", {"generate_data"}, {"fetch_mnist", "extract_ntf"}),
        ("data/raw.py", {"fetch_mnist"}, {"cluster", "score"}),
        ("reporting/scores.py", {"score"}, {"collect_scores", "train_erm"}),
        ("reporting/restarts.py", {"report_restarts"}, {"summarise", "collect_scores"}),
        ("reporting/tables.py", {"summarise", "render_notebook"}, {"score", "report_restarts"}),
        ("reporting/plots.py", {"render_notebook"}, {"summarise"}),
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
        planned = smoke.plan("all", *SMOKE)
    assert names(planned) == with_descendants(dag, lambda job: job.rule in mine)
    changed = {job.rule for job in planned if "Params have changed" in job.reason}
    assert changed <= mine
    # Whoever has no job before it in the plan can have no other reason.
    made = {file for job in planned for file in job.output}
    assert changed >= {job.rule for job in planned if job.output and made.isdisjoint(job.input)}


def test_an_edited_script_reruns_its_rule(smoke: Checkout, dag: list[Job]) -> None:
    with edited(smoke.folder / "workflow" / "scripts" / "train_erm.py", comment):
        planned = smoke.plan("all", *SMOKE)
    assert names(planned) == with_descendants(dag, lambda job: job.rule == "train_erm")


def test_an_edited_notebook_reruns_itself(smoke: Checkout) -> None:
    change = replace("Every seed", "Each seed")
    with edited(smoke.folder / "notebooks" / "table4.ipynb", change):
        planned = smoke.plan("all", *SMOKE)
    assert names(planned) == {"render_notebook results/smoke/notebooks/table4.ipynb", "all"}


def test_one_settings_data_rerun_that_setting(smoke: Checkout, dag: list[Job]) -> None:
    path = smoke.folder / "config" / "experiments" / "classification.yaml"
    with edited(path, replace("{r2: 0.75}", "{r2: 0.76}")):
        planned = smoke.plan("all", *SMOKE)

    def concerned(job: Job) -> bool:
        return job.rule == "write_configuration" or (
            job.rule == "generate_data" and "r2=0.75" in job.output[0]
        )

    assert names(planned) == with_descendants(dag, concerned)
    assert not any("colored_mnist" in job.name or "r2=0.80" in job.name for job in planned)


def test_a_methods_option_reruns_that_method(smoke: Checkout, dag: list[Job]) -> None:
    path = smoke.folder / "config" / "presets" / "smoke.yaml"
    with edited(path, replace("penalty: [10.0]", "penalty: [20.0]")):
        planned = smoke.plan("all", *SMOKE)
    assert names(planned) == with_descendants(
        dag, lambda job: job.rule in ("train_network", "write_configuration")
    )
    with edited(path, replace("seeds: 2", "seeds: 3")):
        planned = smoke.plan("all", *SMOKE)
    assert names(planned) == with_descendants(
        dag,
        lambda job: (
            job.rule == "write_configuration"
            or (job.rule == "generate_data" and "/classification/" in job.output[0])
        ),
    )


def test_paper_values_rerun_tables_and_notebooks(smoke: Checkout) -> None:
    path = smoke.folder / "config" / "paper_values.yaml"
    with edited(path, replace("test_acc: 0.724", "test_acc: 0.725")):
        planned = smoke.plan("all", *SMOKE)
    assert rules(planned) == {"summarise", "render_notebook"}
    tables = len(list((smoke.folder / "notebooks").glob("table*.ipynb")))
    assert len([job for job in planned if job.output]) == 2 * tables


def test_an_edit_is_really_run(smoke: Checkout, results: Path) -> None:
    target, table = "results/smoke/tables/table1.md", results / "tables" / "table1.md"
    before = table.read_bytes()
    path = smoke.folder / "src" / "kerhrm" / "reporting" / "tables.py"
    with edited(path, replace("a bound, not a result", "an edited note")):
        smoke.run(target, *SMOKE)
        assert "an edited note" in table.read_text(encoding="utf-8")
    smoke.run(target, *SMOKE)
    assert table.read_bytes() == before
    assert NOTHING in smoke.run("all", *SMOKE)
