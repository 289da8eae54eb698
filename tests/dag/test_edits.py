"""Edited code reruns what runs it, and nothing else."""

import json
import re
from collections.abc import Callable, Iterable
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
    statement,
    with_descendants,
)
from expected import SETUPS

from kerhrm.algorithm.penalties import PENALTIES
from kerhrm.config.names import setting_in
from kerhrm.data.registry import DATA_SETS, RAW
from kerhrm.methods.registry import METHODS

pytestmark = pytest.mark.dag

# Runs the import statements of scripts and notebooks, imports the modules that a job loads by
# name, and prints what that loads: an answer that owes nothing to the package's import graph.
IMPORTS = """
import ast, importlib, json, sys
loaded = {}
for kind, parts in json.loads(sys.argv[1]).items():
    for name in [n for n in sys.modules if n.split(".")[0] == "kerhrm"]:
        del sys.modules[name]
    for part in parts:
        if not part.endswith((".py", ".ipynb")):
            importlib.import_module(part.partition(":")[0])
            continue
        text = open(part, encoding="utf-8").read()
        cells = [text]
        if part.endswith(".ipynb"):
            cells = [c for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
            cells = ["".join(c["source"]) for c in cells]
        for cell in cells:
            for node in ast.parse(cell).body:
                if isinstance(node, ast.Import | ast.ImportFrom):
                    exec(compile(ast.Module([node], []), part, "exec"), {})
    modules = [m.__file__ for n, m in sys.modules.items() if n.split(".")[0] == "kerhrm"]
    loaded[kind] = sorted(filter(None, modules))
print(json.dumps(loaded))
"""

Kinds = dict[str, list[str]]  #: kinds of jobs: scripts, notebooks and entry points


def kinds(folder: Path) -> Kinds:
    """What each kind of jobs runs: a kind is a rule or, where that runs many codes, one of them."""
    scripts = {p.stem: [str(p)] for p in sorted((folder / "workflow" / "scripts").glob("*.py"))}
    found: Kinds = dict(scripts)
    # no part of `all`
    apart = {
        "verify",
        "check_claims",
        "measure_ambiguities",
        "describe_dataset",
        "write_page",
        "write_report",
    }
    for rule in [rule for rule in found if rule.startswith("publish_") or rule in apart]:
        del found[rule]
    shared = "fetch_raw", "generate_data", "train_method", "score", "render_notebook"
    fetch, generate, train, score, render = (found.pop(rule) for rule in shared)
    for path in sorted((folder / "notebooks").glob("*.ipynb")):
        found[f"notebook:{path.stem}"] = [*render, str(path)]
    for name, raw in RAW.items():
        found[f"fetch:{name}"] = [*fetch, raw]
    for name, data in DATA_SETS.items():
        found[f"data:{name}"] = [*generate, data.entry, *([RAW[data.raw]] if data.raw else [])]
        found[f"score:{name}"] = [*score, *([data.truths] if data.truths else [])]
    for name, method in METHODS.items():
        if method.reads != "kerhrm":
            prepare = f"kerhrm.methods.{method.reads}"
            penalty = [PENALTIES["gradient_variance"]] * (method.reads != "points")
            found[f"method:{name}"] = [*train, method.entry, prepare, *penalty]
    found["learn_direction"] = [*found["learn_direction"], PENALTIES["gradient_variance"]]
    return found


def kind(job: Job) -> str:
    """The kind of a job."""
    stem = Path(job.output[0]).stem
    if job.rule in ("train_method", "train_on_features", "train_whole"):
        return f"method:{stem}"
    if job.rule == "fetch_raw":
        return f"fetch:{stem}"
    if job.rule == "render_notebook":
        return "notebook:table"
    if job.rule in ("render_figure", "render_variants"):
        return f"notebook:{stem}"
    if job.rule in ("generate_data", "score"):
        _, _, experiment, setting, *_ = job.output[0].split("/")
        generator = SETUPS[experiment].settings[setting_in(setting)].data.generator
        return f"{job.rule.removeprefix('generate_')}:{generator}"
    return job.rule


@pytest.fixture(scope="module")
def importers(smoke: Checkout) -> dict[str, set[str]]:
    """Kinds of jobs by the module (path below src/kerhrm) that their code imports."""
    found: dict[str, set[str]] = {}
    told = smoke.python("-c", IMPORTS, json.dumps(kinds(smoke.folder)))
    for name, modules in json.loads(told).items():
        for module in modules:
            path = Path(module).relative_to(smoke.folder / "src" / "kerhrm").as_posix()
            found.setdefault(path, set()).add(name)
    return found


@pytest.mark.parametrize(
    ("module", "among", "not_among"),
    [
        (
            "algorithm/mixture.py",
            {"learn_environments"},
            {"extract_ntf", "reduce_ntf", "method:erm", "data:classification"},
        ),
        (
            "algorithm/network.py",
            {"train_network"},
            {"learn_environments", "learn_direction", "method:erm", "predict_ntf"},
        ),
        ("methods/dro/train.py", {"method:dro"}, {"method:erm", "method:irm", "train_network"}),
        (
            "scoring/tuning.py",
            {"select_hyperparameters"},
            {"method:dro", "score:classification"},
        ),
        (
            "methods/kerhrm/train.py",
            {"method:kerhrm_grid", "method:per_seed", "method:literal"},
            {"method:erm", "method:released", "train_network", "learn_direction"},
        ),
        (
            "data/classification/generator.py",
            {"data:classification", "score:classification"},
            {"data:houses", "fetch:mnist", "extract_ntf"},
        ),
        (
            "reporting/figures.py",
            {"notebook:figure2", "notebook:figure3"},
            {"summarise", "score:houses"},
        ),
        (
            "jobs/job.py",
            {"fetch:mnist", "learn_environments", "summarise", "write_configuration"},
            set(),
        ),
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
    with edited(smoke.folder / "src" / "kerhrm" / module, statement):
        planned = smoke.plan(*TARGETS, *SMOKE)
    assert without_ntf(names(planned)) == without_ntf(
        with_descendants(dag, lambda job: bool(job.output) and kind(job) in mine)
    )
    changed = {kind(job) for job in planned if "Params have changed" in job.reason}
    assert changed <= mine


def without_ntf(jobs: Iterable[str]) -> set[str]:
    """Jobs but those that make neural tangent features, which no run keeps."""
    return {name for name in jobs if not name.startswith("extract_ntf ")}


def reworded(text: str) -> str:
    """Other docstrings and comments, and a docstring more; no other code."""
    text = re.sub(r'^"""', '"""In other words: ', text, count=1)
    text = re.sub(r'^(    """)(?=\w)', r"\1Reworded: ", text, flags=re.MULTILINE)
    return comment(text)


def test_other_words_rerun_nothing(smoke: Checkout) -> None:
    """In docstrings, comments and errors of all the code at once, the scripts' included."""
    source = smoke.folder / "src" / "kerhrm"
    files = [*sorted(source.rglob("*.py")), *sorted(smoke.folder.glob("workflow/scripts/*.py"))]
    assert source / "storage" / "arrays.py" in files
    assert source / "errors.py" in files
    changes: dict[Path, Callable[[str], str]] = dict.fromkeys(files, reworded)
    changes[source / "storage" / "arrays.py"] = replace("is damaged (", "is broken (")
    with ExitStack() as stack:
        for path, change in changes.items():
            stack.enter_context(edited(path, change))
        assert smoke.plan(*TARGETS, *SMOKE) == []


@pytest.mark.parametrize("rule", ["extract_ntf", "score"])
def test_an_edited_script_reruns_its_rule(smoke: Checkout, dag: list[Job], rule: str) -> None:
    """One whose files have gone, too."""
    with edited(smoke.folder / "workflow" / "scripts" / f"{rule}.py", statement):
        planned = smoke.plan(*TARGETS, *SMOKE)
    assert names(planned) == with_descendants(dag, lambda job: job.rule == rule)


def test_an_edited_notebook_reruns_its_tables(smoke: Checkout, dag: list[Job]) -> None:
    with edited(smoke.folder / "notebooks" / "table.ipynb", replace("Every seed", "Each seed")):
        planned = smoke.plan(*TARGETS, *SMOKE)
    assert names(planned) == with_descendants(dag, lambda job: job.rule == "render_notebook")


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
