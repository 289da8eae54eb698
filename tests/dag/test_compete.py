"""A method of one's own, from the template to its rank, and one that never ends."""

import sys
from pathlib import Path
from subprocess import CompletedProcess

import pandas as pd
import pytest
from dagtools import Checkout

pytestmark = pytest.mark.dag

#: two candidates, of which one never ends
FEWER = 'CANDIDATES = [{"share": 0.2}, {"share": 0.5}]\n'
LOOP = "    while options.share > 0.4:\n        pass\n"
#: none of which ends, and which leaves the processor to others
WAIT = "    import time\n\n    while True:\n        time.sleep(1)\n"
TRAIN = "    n_worst ="


#: enough of Table 3's methods to rank another one
LEARNERS = "learners: [erm, eiil, kerhrm]\n"


def compete(checkout: Checkout, *words: str) -> CompletedProcess[str]:
    """The command in a copy."""
    code = "import sys; from kerhrm.cli import main; sys.exit(main())"
    return checkout.call(sys.executable, "-c", code, "compete", *words)


def hold(checkout: Checkout, path: Path, *words: str) -> str:
    """Output of a contest on Table 3, which has to succeed."""
    options = ("--tables", "table3", "--cores", "2")
    done = compete(checkout, str(path), *options, *words)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_template_and_a_method_that_never_ends(
    checkout: Checkout, tmp_path: Path
) -> None:
    table = checkout.folder / "config/tables/table3.yaml"
    before, _, after = table.read_text().partition("learners:")
    rest = after[after.index("select:") :]
    table.write_text(before + LEARNERS + rest)
    path = tmp_path / "mine.py"
    assert compete(checkout, "--new", str(path)).returncode == 0
    output = hold(checkout, path)
    run = checkout.folder / "results/compete/my_method/smoke"
    assert "table3: My method is number" in output
    assert str(run.relative_to(checkout.folder) / "ranks.html") in output
    assert (run / "figures/table3.png").exists()
    assert (run / "figures/table3-methods.png").exists()
    assert "data:image/png" in (run / "ranks.html").read_text()
    ranks = pd.read_csv(run / "ranks.csv").set_index("method")
    assert {"My method", "KerHRM", "EIIL"} <= {*ranks.index}
    assert ranks["rank"].min() == 1
    assert (ranks["seconds"] > 0).all()
    comparisons = pd.read_csv(run / "tables/table3-comparisons.csv")
    assert "My method" in {*comparisons["baseline"]}
    # nothing runs again, but for the method, once its file has changed
    assert "Nothing to be done" in hold(checkout, path)
    text = path.read_text()
    text = text[: text.index("CANDIDATES = [")] + FEWER
    path.write_text(text.replace(TRAIN, LOOP + TRAIN))
    output = hold(checkout, path, "--timeout", "0.1")
    assert "Extract features" not in output
    assert "eiil" not in output
    searched = run.parent / "search/smoke/selected/regression.csv"
    scores = pd.read_csv(searched).set_index("learner")["pooled"]
    assert scores["my_method+share=0.5"] == float("-inf")
    assert scores["my_method+share=0.2"] > float("-inf")
    assert pd.read_csv(run / "ranks.csv")["rank"].notna().all()
    # where all candidates fail, no table is made
    endless = text.replace(TRAIN, WAIT + TRAIN)
    path.write_text(endless)
    words = ("--tables", "table3", "--timeout", "0.1")
    done = compete(checkout, str(path), *words)
    assert done.returncode == 1
    line = "both candidates failed on regression: timed out after 6 seconds"
    assert line in done.stdout
    # and a single one has a row that says so, and the others theirs
    path.write_text(endless.replace(FEWER, ""))
    output = hold(checkout, path, "--timeout", "0.1")
    assert "has no rank: timed out after 6 seconds" in output
    cells = pd.read_csv(run / "tables/table3.csv").set_index("method")
    mine = cells.loc["My method"]
    assert {*mine["verdict"]} == {"failed"}
    assert mine["reason"].str.startswith("timed out after 6 seconds; not tried").all()
    assert cells.loc["KerHRM", "mean"].notna().all()
    page = (run / "ranks.html").read_text()
    assert "timed out" in page
    assert "<td>&gt; 6.0</td>" in page


def test_a_file_is_refused_before_anything_runs(
    checkout: Checkout, tmp_path: Path
) -> None:
    path = tmp_path / "mine.py"
    path.write_text("raise RuntimeError('not yet')\n")
    done = compete(checkout, str(path))
    assert done.returncode == 1
    (line,) = done.stdout.splitlines()
    assert "mine.py cannot be imported: line 1: RuntimeError: not yet" in line
    assert not (checkout.folder / "results/compete").exists()
