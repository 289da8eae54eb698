"""Every command of README and pages, as a reader would type it, on a finished smoke
run.

Snakemake plans instead of running (``-n``), and ``make`` prints what it would run;
``kerhrm`` and the recovery answer for the smoke run.
``test_tutorial`` and ``test_plugins`` run the tutorials, ``tests/unit/docs_site`` runs
``kerhrm check``.
"""

import shlex
import shutil
import sys
from pathlib import Path

import pytest
from dagtools import Checkout
from pagetools import PAGES, commands, files

pytestmark = pytest.mark.dag

ELSEWHERE = {
    ("kerhrm", "check"): "unit tests run it",
    ("kerhrm", "verify"): "test_commands runs it against a reference of this machine",
    ("kerhrm", "publish"): "test_commands runs it",
    ("kerhrm", "compete"): "test_compete runs it",
    ("snakemake", "with_cvar"): "test_plugins runs it, with the package that it needs",
    ("snakemake", "flipped"): "test_plugins runs it, with the package that it needs",
    ("python", "pip"): "needs a package index",
    ("git", "diff"): "needs the tag, which a shallow clone lacks",
    ("git", "log"): "needs the history, which a shallow clone lacks",
}


#: commands that have targets alone behind it are tried as one, with all of them
PLAIN = ["snakemake", "--cores", "2"]


def of_page(page: Path) -> list[list[str]]:
    """Commands of a page that are tried here."""
    targets = []
    others = []
    for words in commands(page):
        if any(words[0] == program and word in words for program, word in ELSEWHERE):
            continue
        start, rest = words[:3], words[3:]
        if start == PLAIN and rest and not any(w.startswith("-") for w in rest):
            targets += rest
        else:
            others.append(words)
    if targets:
        others.append([*PLAIN, *dict.fromkeys(targets)])
    return others


def documented() -> list[tuple[Path, list[str]]]:
    """Page and command; one that several pages have, once."""
    found = {}
    for page in PAGES:
        for words in of_page(page):
            texts = [text for name, text in files(page).items() if name in words]
            found.setdefault((*words, *texts), (page, words))
    return [*found.values()]


@pytest.fixture(scope="module")
def copy(smoke: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return smoke.copy(tmp_path_factory.mktemp("documented") / "kerhrm")


@pytest.mark.parametrize(
    ("page", "words"),
    documented(),
    ids=lambda x: x.name if isinstance(x, Path) else shlex.join(x),
)
def test_a_command_is_understood(copy: Checkout, page: Path, words: list[str]) -> None:
    for name, text in files(page).items():
        (copy.folder / name).write_text(text)
    program, *rest = words
    smoke = [
        "results/smoke" if w in ("results/fresh", "results/paper") else w for w in rest
    ]
    if program == "snakemake":
        done = copy.call(sys.executable, "-m", "snakemake", *rest, "-n")
    elif program == "make":
        done = copy.call(shutil.which("make") or "make", "-n", *rest)
    elif program == "kerhrm":
        code = "import sys; from kerhrm.cli import main; sys.exit(main())"
        done = copy.call(sys.executable, "-c", code, *smoke)
    else:
        assert program == "python"
        done = copy.call(sys.executable, *smoke)
    assert done.returncode == 0, done.stdout
