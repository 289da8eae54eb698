"""What the workflow relies on of Snakemake: one that behaves otherwise is told here.

That it makes a requested file again with all that follows, and one that nobody requests not at
all, stands in ``test_lost.py``.
"""

import inspect

import pytest
from dagtools import Checkout, Job, edited, replace
from snakemake.scheduling.job_scheduler import JobScheduler

pytestmark = pytest.mark.dag

WORKFLOW = """
config.setdefault("word", "")

rule all:
    default_target: True
    localrule: True
    input: "end", "twin", "configfiles"

rule half:
    input: "raw"
    output: temp("half")
    params: word=config["word"], kept="kept"
    message: "Half of it"
    shell: "echo {params.kept} {params.word} | cat {input} - >{output}"

use rule half as twin with:
    output: "twin"
    params: word="twin"
    message: "Its twin"

rule end:
    input: "half"
    output: "end"
    message: "The end"
    shell: "cp {input} {output}"

rule configfiles:
    output: "configfiles"
    params: names=[str(Path(name).name) for name in workflow.configfiles]
    shell: "echo {params.names} >{output}"
"""
OPTIONS = ("--rerun-triggers", "mtime", "params", "input", "--configfile", "mine.yaml")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A small workflow that has run; tests leave it as they find it."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "Snakefile").write_text("from pathlib import Path\n" + WORKFLOW)
    (folder / "raw").write_text("raw\n")
    (folder / "mine.yaml").write_text("word: one\n")
    checkout = Checkout(folder)
    checkout.run(*OPTIONS)
    return checkout


def planned(done: Checkout, *options: str) -> set[str]:
    jobs: list[Job] = done.plan(*OPTIONS, *options)
    return {job.rule for job in jobs} - {"all"}


def test_temporary_files_go_and_are_not_missed(done: Checkout) -> None:
    assert not (done.folder / "half").exists()
    assert (done.folder / "end").read_text() == "raw\nkept one\n"
    assert planned(done) == set()


def test_a_changed_parameter_makes_a_temporary_file_again(done: Checkout) -> None:
    """Although it is gone, and with what was made of it."""
    assert planned(done, "--config", "word=two") == {"half", "end"}


def test_what_follows_a_temporary_file_has_it_made_again(done: Checkout) -> None:
    assert planned(done, "--forcerun", "end") == {"half", "end"}


def test_a_twin_keeps_the_parameters_that_it_does_not_name(done: Checkout) -> None:
    assert (done.folder / "twin").read_text() == "raw\nkept twin\n"
    with edited(done.folder / "Snakefile", replace('kept="kept"', 'kept="other"')):
        assert planned(done) == {"half", "end", "twin"}


def test_the_files_of_the_command_line_are_known(done: Checkout) -> None:
    assert (done.folder / "configfiles").read_text() == "mine.yaml\n"


def test_code_by_itself_is_no_reason(done: Checkout) -> None:
    with edited(done.folder / "Snakefile", replace("cp {input}", "cp -f {input}")):
        assert planned(done) == set()


def test_the_scheduler_has_the_limit_that_local_runs_do_without() -> None:
    """``onstart`` sets it to None, which Snakemake itself gives a meaning."""
    assert "self.job_rate_limiter is None" in inspect.getsource(JobScheduler)
