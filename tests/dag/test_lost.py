"""A job that fails loses its old output; what was made of that is made again, too."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from dagtools import SMOKE, Checkout, Job, edited, names, replace, rules, with_descendants

from kerhrm.reporting.tables import read_table

pytestmark = pytest.mark.dag

# raw -> a -> half -> b -> c, where half is a temporary file.
CHAIN = """
from kerhrm.jobs.lost import lost_files

rule all:
    input: "run/c", lost_files("run")

rule narrow:
    input: "run/c"
"""
RULE = """
rule make_{name}:
    input: "{input}"
    output: {output}
    params: add=config.get("add_to_{name}", "")
    log: "run/logs/{name}.log"
    script: "make.py"
"""
SCRIPT = """
from pathlib import Path
from kerhrm.jobs.job import job
from kerhrm.storage.arrays import write_text

name = Path(snakemake.output[0]).name
with job(snakemake, keep=name != "half"):
    assert not Path("fail-" + name).exists(), "as the test wants it"
    before = Path(snakemake.input[0]).read_text()
    write_text(snakemake.output[0], before + name + snakemake.params.add)
"""
FILES = {"a": "raw", "half": "run/a", "b": "run/half", "c": "run/b"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A small workflow all of whose files have been made."""
    tmp_path = tmp_path_factory.mktemp("made") / "chain"
    tmp_path.mkdir()
    text = CHAIN
    for name, source in FILES.items():
        output = f'temp("run/{name}")' if name == "half" else f'"run/{name}"'
        text += RULE.format(name=name, input=source, output=output)
    (tmp_path / "Snakefile").write_text(text)
    (tmp_path / "make.py").write_text(SCRIPT)
    (tmp_path / "raw").write_text("raw ")
    profile = tmp_path / "profiles" / "default"
    profile.mkdir(parents=True)
    (profile / "config.yaml").write_text("rerun-triggers: [mtime, params, input]\n")
    checkout = Checkout(tmp_path)
    checkout.environment["PYTHONPATH"] = str(Path(__file__).parents[2] / "src")
    checkout.run("all")
    assert (tmp_path / "run" / "c").read_text() == "raw ahalfbc"
    return checkout


@pytest.fixture
def chain(made: Checkout, tmp_path: Path) -> Checkout:
    """A copy of it to be changed."""
    copy = made.copy(tmp_path / "chain")
    copy.environment = made.environment
    return copy


def failing(checkout: Checkout, name: str, *arguments: str) -> None:
    mark = checkout.folder / f"fail-{name}"
    mark.touch()
    assert checkout.snakemake(*arguments).returncode != 0
    mark.unlink()


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_failed_change_is_made_up_for(chain: Checkout, name: str) -> None:
    run, change = chain.folder / "run", ("--config", f"add_to_{name}=X")
    failing(chain, name, f"run/{name}", *change)
    assert not (run / name).exists()
    assert (run / "c").exists()
    planned = rules(chain.plan("all", *change))
    assert planned >= {"make_b", "make_c", f"make_{name}"}
    assert ("make_a" in planned) == (name == "a")
    chain.run("all", *change)
    assert (run / "c").read_text() == {"a": "raw aXhalfbc", "b": "raw ahalfbXc"}[name]
    assert chain.plan("all", *change) == []


def test_snakemake_still_needs_the_help(chain: Checkout) -> None:
    """What the notes are for, and rely on; a Snakemake that behaves otherwise is told here."""
    failing(chain, "b", "run/b", "--force")
    # Nobody asks for the gap, so that the stale end of the chain passes for up to date.
    assert chain.plan("narrow") == []
    # Who asks for it gets what follows it, too.
    assert rules(chain.plan("narrow", "run/b")) == {"make_b", "make_c"}
    assert rules(chain.plan("all")) == {"make_b", "make_c"}


def test_a_failure_before_the_job_has_begun(chain: Checkout) -> None:
    with edited(chain.folder / "make.py", lambda text: "import no_such_module\n" + text):
        assert chain.snakemake("run/a", "--force").returncode != 0
    assert rules(chain.plan("all")) == {"make_a", "make_half", "make_b", "make_c"}


def test_what_is_removed_by_hand(chain: Checkout) -> None:
    """It is made again for what stands on it, unless its note is removed, too."""
    run = chain.folder / "run"
    (run / "a").unlink()
    assert rules(chain.plan("all")) == {"make_a", "make_half", "make_b", "make_c"}
    for note in (run / "made").iterdir():
        note.unlink()
    assert chain.plan("all") == []


TABLE = "results/smoke/tables/table1.csv"
SETTING = "results/smoke/classification/r2=0.70"
ERM = f"{SETTING}/predictions/erm.npz"
SCORES = f"{SETTING}/scores.csv"


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """A file that cannot be read for a while, and looks as old as before."""
    content, times = path.read_bytes(), path.stat()
    path.write_bytes(content[:100])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    yield
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.fixture
def copy(smoke: Checkout, tmp_path: Path) -> Checkout:
    return smoke.copy(tmp_path / "copy")


def test_a_change_survives_a_failure(copy: Checkout) -> None:
    """ERM is to be trained anew and fails: the table must not look up to date afterwards."""
    table = copy.folder / TABLE
    before = read_table(table)
    preset = copy.folder / "config" / "presets" / "smoke.yaml"
    with edited(preset, replace("selected: {steps: 20,", "selected: {steps: 1,")):
        with damaged(copy.folder / SETTING / "data" / "train.npz"):
            done = copy.snakemake(ERM, *SMOKE)
        assert done.returncode != 0
        assert not (copy.folder / ERM).exists()
        for target in ("table1", "all"):
            planned = names(copy.plan(target, *SMOKE))
            assert f"train_method {ERM}" in planned
            assert any(n.startswith("summarise results/smoke/tables/table1") for n in planned)
        copy.run("table1", *SMOKE)
        after = read_table(table)
        changed = after["mean"] != before["mean"]
        assert changed.any()
        assert set(after.loc[changed, "method"]) == {"ERM"}
        assert copy.plan("table1", *SMOKE) == []


def test_a_file_lost_in_another_run_is_made_when_it_is_asked_for(
    copy: Checkout, dag: list[Job]
) -> None:
    with damaged(copy.folder / SETTING / "data" / "test_labels.npz"):
        done = copy.snakemake(SCORES, "--force", *SMOKE)
    assert done.returncode != 0
    copy.run("table3", *SMOKE)  # succeeds, and knows nothing of that file
    planned = names(copy.plan("table1", *SMOKE))
    expected = with_descendants(dag, lambda job: job.rule == "score" and SCORES in job.output)
    assert planned >= {name for name in expected if "table1" in name}
