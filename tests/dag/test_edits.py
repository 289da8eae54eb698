"""Edited code reruns what runs it, and nothing else."""

import json
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
    with_descendants,
)
from expected import TABLES

pytestmark = pytest.mark.dag

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


#: Kinds of jobs that a script serves, where it is not one of its own name.
KINDS = {
    "render_notebook": [f"notebook:{table}" for table in TABLES],
    "select_hyperparameters": ["select_hyperparameters", "select_by_oracle"],
}


def kind(job: Job) -> str:
    """The job's rule; of a rule for many codes, the method or notebook, too."""
    if job.rule == "train_method":
        return f"train_method:{Path(job.output[0]).stem}"
    if job.rule in ("render_notebook", "render_figure"):
        return f"notebook:{Path(job.output[0]).stem}"
    return job.rule


def kinds_of(path: Path) -> list[str]:
    """Kinds of jobs that run a script or a notebook."""
    stem = path.stem
    if path.suffix == ".ipynb":
        return [f"notebook:{stem}"]
    if stem.startswith("train_") and stem not in ("train_network", "train_released"):
        return [f"train_method:{stem.removeprefix('train_')}"]
    return KINDS.get(stem, [stem])


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


@pytest.mark.parametrize(
    ("module", "among", "not_among"),
    [
        ("algorithm/clustering.py", {"cluster"}, {"extract_ntf", "reduce_ntf", "generate_data"}),
        ("methods/igd.py", {"train_network"}, {"cluster", "train_method:erm", "predict_ntf"}),
        ("methods/dro.py", {"train_method:dro"}, {"train_method:erm", "train_method:irm"}),
        ("methods/released.py", {"train_released"}, {"train_method:erm", "cluster"}),
        (
            "methods/tuning.py",
            {"select_hyperparameters", "select_by_oracle"},
            {"train_method:dro", "score"},
        ),
        ("data/classification.py", {"generate_data"}, {"fetch_mnist", "extract_ntf"}),
        ("reporting/scores.py", {"score", "score_iterations"}, {"collect_scores", "train_network"}),
        ("reporting/verdicts.py", {"summarise", "notebook:table1"}, {"score", "cluster"}),
        ("reporting/figures.py", {"notebook:figure2", "notebook:figure3"}, {"summarise", "score"}),
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
        planned = smoke.plan(*TARGETS, *SMOKE)
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
        planned = smoke.plan(*TARGETS, *SMOKE)
    assert names(planned) == with_descendants(dag, lambda job: kind(job) == "train_method:erm")


def test_an_edited_notebook_reruns_itself(smoke: Checkout) -> None:
    change = replace("Every seed", "Each seed")
    with edited(smoke.folder / "notebooks" / "table4.ipynb", change):
        planned = smoke.plan(*TARGETS, *SMOKE)
    assert names(planned) == {
        "render_notebook results/smoke/notebooks/table4.ipynb",
        "check_failures results/smoke/checked.txt",
        "all",
    }


def test_an_edit_is_really_run(smoke: Checkout, results: Path) -> None:
    target, table = "results/smoke/tables/table1.md", results / "tables" / "table1.md"
    before = table.read_bytes()
    path = smoke.folder / "src" / "kerhrm" / "reporting" / "layout.py"
    with edited(path, replace("a bound, not a result", "an edited note")):
        smoke.run(target, *SMOKE)
        assert "an edited note" in table.read_text(encoding="utf-8")
    smoke.run(target, *SMOKE)
    assert table.read_bytes() == before
    assert smoke.plan(*TARGETS, *SMOKE) == []
