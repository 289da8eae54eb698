"""What is told of a number is what its files say."""

import argparse
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from explaintools import BEST, NETWORK, SEEDS, VALUES
from scipy import stats

from kerhrm.cli import explain as command
from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import NONE, POOLED, WORST_LEARNED
from kerhrm.reporting.explain.cells import Shelf
from kerhrm.reporting.explain.explanation import Explanation, _iteration_scores, as_json, explain
from kerhrm.reporting.explain.lineage import JOBS, Job, Records
from kerhrm.reporting.explain.text import as_text, verdict_in_words
from kerhrm.reporting.provenance import MADE_WITH
from kerhrm.storage.arrays import save_arrays

CELL = ("table1", "r2=0.70", NETWORK, "test_acc")
RULES_IN_ORDER = [
    "generate_data", "learn_direction", "predict_ntf", "train_network", "score", "collect_scores",
    "summarise",
]  # fmt: skip


@pytest.fixture(scope="module")
def network(run: Path, checkout: Path) -> Explanation:
    return explain(run, *CELL, checkout=checkout)


def publish(run: Path, folder: Path) -> Path:
    """What is left of a run in the repository: tables, scores, and notes of its jobs."""
    for name in ("tables", "scores", "choices"):
        shutil.copytree(run / name, folder / name)
    shutil.copy(run / "config.yaml", folder)
    facts = {"packages": {"torch": "2.0+cpu"}, MADE_WITH: {"commit": "c0ffee", "code": "c" * 64}}
    (folder / "versions.json").write_text(json.dumps(facts))
    records = Records.of_run(run)
    jobs = records.behind(["tables/table1.csv"])
    (folder / JOBS).write_text(records.as_text(jobs))
    return folder


def test_seeds_and_what_the_table_makes_of_them(network: Explanation) -> None:
    values = [row["value"] for row in network.seeds]
    assert [row["seed"] for row in network.seeds] == list(SEEDS)
    assert values == VALUES[NETWORK]
    assert network.cell["mean"] == pytest.approx(np.mean(values))
    low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    text = as_text(network)
    assert f"95 % interval {low:.4f} to {high:.4f}" in text
    assert "the paper's    0.66\n" in text
    for seed, value in zip(SEEDS, values, strict=True):
        assert f"{seed}: {value:.4f}" in text


def test_choices_of_every_seed_stand_beside_its_value(network: Explanation) -> None:
    assert [row["iteration"] for row in network.seeds] == [1, 2, 1]
    assert [row["iteration_scores"] for row in network.seeds] == [[0.5], [0.5], [0.1]]
    assert "iteration 1 (2), 2 (1); lambda 100 (3)" in as_text(network)


def test_jobs_from_raw_data_to_the_table_and_no_others(network: Explanation) -> None:
    assert [job.rule for job in network.jobs] == RULES_IN_ORDER
    assert not any("H=I" in job.place for job in network.jobs)
    job = network.jobs[3]
    assert (job.began, job.seconds, job.memory_mb) == ("2026-01-31 12:04:00", 1.5, 100.0)


def test_files_have_their_hashes(network: Explanation, run: Path) -> None:
    for file, hashed in network.files.items():
        content = (run / file).read_bytes()
        assert hashed is not None
        assert (hashed.sha256, hashed.size) == (hashlib.sha256(content).hexdigest(), len(content))
    names = [Path(file).name for file in network.files]
    assert {"train.npz", "kerhrm-network.npz", "kerhrm.npz", "table1.csv"} <= {*names}
    assert "erm.npz" not in names


def test_the_page_is_short_and_the_json_whole(network: Explanation, run: Path) -> None:
    text = as_text(network)
    assert len(text.splitlines()) <= 60
    assert text.startswith(f"table1 | r2=0.70 | {NETWORK} | test accuracy, by {WORST_LEARNED}\n")
    assert "snakemake --cores 2 table1\n" in text
    assert "only in a run" not in text
    told = json.loads(as_json(network))
    assert told["cell"]["p_agrees"] == network.cell["p_agrees"]
    assert told["seeds"][0]["value"] == VALUES[NETWORK][0]
    assert len(told["files"]["tables/table1.csv"]["sha256"]) == 64
    assert told["folder"] == str(run)


def test_the_steps_of_kerhrm_have_what_the_search_chose(network: Explanation) -> None:
    assert network.chosen.method == "igd"
    assert [one.chosen for one in network.chosen.candidates] == [False, True]
    assert network.chosen.candidates[1].score == pytest.approx(0.74)
    assert "one of 2 option sets" in network.chosen.how
    assert "seeds 100 to 104 of r2=0.75, which no table uses" in network.chosen.how


def test_a_tuned_method(run: Path, checkout: Path) -> None:
    found = explain(run, "table1", "r2=0.70", "ERM", "test_acc", checkout=checkout)
    assert found.chosen.options == BEST
    assert [one.options for one in found.chosen.candidates] == [{"steps": 100}, {"steps": 200}]
    assert found.chosen.rule == POOLED
    assert "train_method" in [job.rule for job in found.jobs]
    assert "train_network" not in [job.rule for job in found.jobs]


def test_a_search_that_has_moved_on_is_not_told(run: Path, tmp_path: Path, checkout: Path) -> None:
    tuned = tmp_path / "config" / "tuned"
    shutil.copytree(checkout / "config" / "tuned", tuned)
    grid = tuned / "classification.csv"
    scores = pd.read_csv(grid)
    scores.assign(score=1 - scores["score"]).to_csv(grid, index=False)
    found = explain(run, "table1", "r2=0.70", "ERM", "test_acc", checkout=tmp_path)
    assert found.chosen.options == BEST
    assert found.chosen.candidates == []


def test_what_was_published_tells_the_same(
    network: Explanation, run: Path, checkout: Path, tmp_path: Path
) -> None:
    folder = publish(run, tmp_path / "reference")
    found = explain(folder, *CELL, checkout=checkout)
    assert found.cell["mean"] == network.cell["mean"]
    assert found.jobs == network.jobs
    assert found.files == network.files
    assert found.made_with["commit"] == "c0ffee"
    assert found.device == "cpu (auto, with a CPU build of PyTorch)"
    text = as_text(found)
    assert "data, features, predictions and networks themselves: only in a run" in text
    assert "snakemake --cores 2 table1 makes one" in " ".join(text.split())


def test_of_tables_alone_it_says_what_is_lacking(run: Path, tmp_path: Path) -> None:
    folder = publish(run, tmp_path / "reference")
    shutil.rmtree(folder / "scores")
    (folder / JOBS).unlink()
    found = explain(folder, *CELL, checkout=tmp_path)
    assert (found.seeds, found.jobs, found.files) == ([], [], {})
    assert found.lacking[:2] == [
        "the scores of every seed", "its jobs, their times and the hashes of their files"
    ]  # fmt: skip
    assert f"{found.cell['mean']:.4f}" in as_text(found)


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        (("table11", *CELL[1:]), "no table 'table11' in {run}; nearest: table1"),
        (("apart", *CELL[1:]), "{run} has no apart yet; make it: snakemake --cores 2 apart"),
        (("table1", "r2=0.7", *CELL[2:]), "no setting 'r2=0.7' in table1; nearest: r2=0.70, "),
        (
            ("table1", "r2=0.70", "kerhrm network", "test_acc"),
            f"no method 'kerhrm network' in table1, r2=0.70; nearest: {NETWORK}",
        ),
        ((*CELL[:3], "accuracy"), f"no metric 'accuracy' in table1, r2=0.70, {NETWORK}; "),
        ((*CELL[:3], "xyz"), f"in table1, r2=0.70, {NETWORK}; known are: test_acc"),
    ],
)
def test_a_cell_that_is_not_there(run: Path, cell: tuple[str, ...], told: str) -> None:
    with pytest.raises(KerhrmError) as caught:
        explain(run, *cell)
    assert told.format(run=run) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_rule_has_to_be_there(run: Path) -> None:
    with pytest.raises(KerhrmError, match=f"no selection rule 'best' .*{WORST_LEARNED}"):
        explain(run, *CELL, rule="best")


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(KerhrmError, match="there is no run in"):
        explain(tmp_path, *CELL)


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ({"verdict": ""}, "the paper prints no number"),
        ({"verdict": "failed", "reason": "diverged (1 of 3 seeds)"}, "failed: diverged"),
        ({"verdict": "not comparable", "reason": "stated"}, "not compared: stated"),
        ({"verdict": "agrees"}, "agrees: the means are closer than 0.02 (p = 0.01 if 0.02 or"),
        ({"verdict": "undecided"}, "undecided: neither equal within 0.02 nor surely different"),
        ({"verdict": "differs: lower", "direction": "bad"}, "ours is lower, which is worse"),
        ({"verdict": "differs: higher", "direction": ""}, "differs: ours is higher (p = "),
    ],
)
def test_verdicts_in_words(cell: dict[str, Any], told: str) -> None:
    usual = {"reason": "", "metric": "test_acc", "paper": 0.7, "p_agrees": 0.01, "p_differs": 0.5}
    assert told in verdict_in_words({"direction": ""} | usual | cell)


def test_the_command(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = argparse.ArgumentParser()
    command.declare(parser)
    monkeypatch.chdir(run.parents[1])
    command.run(parser.parse_args([*CELL]))
    assert capsys.readouterr().out.startswith("table1 | r2=0.70 | ")
    command.run(parser.parse_args([*CELL, "--run", str(run), "--json"]))
    assert json.loads(capsys.readouterr().out)["chosen"]["rule"] == WORST_LEARNED


def test_seeds_of_two_experiments_have_their_own_scores(tmp_path: Path) -> None:
    """As many as each has: 2 with three iterations, then 3 with two."""
    jobs = []
    for name, seeds, iterations in (("few", 2, 3), ("more", 3, 2)):
        paths = [f"{name}/s/iterations/{t + 1}/theta.npz" for t in range(iterations)]
        for t, path in enumerate(paths):
            (tmp_path / path).parent.mkdir(parents=True)
            score = np.arange(seeds)[:, None] + np.array([[t / 10, 99.0]])
            save_arrays(tmp_path / path, {"score": score, "chosen": np.zeros(seeds, dtype=int)}, {})
        jobs.append(Job("predict_ntf", f"{name}/s", (f"{name}/s/psi.npz", *paths), ()))
    shelf = Shelf(tmp_path, tmp_path / "tables/table4.csv", {})
    assert _iteration_scores(shelf, jobs) == [
        [0.0, 0.1, 0.2], [1.0, 1.1, 1.2], [0.0, 0.1], [1.0, 1.1], [2.0, 2.1],
    ]  # fmt: skip
    (tmp_path / jobs[1].inputs[1]).unlink()
    assert _iteration_scores(shelf, jobs) == []


def test_a_closed_form_has_no_options(run: Path, checkout: Path, tmp_path: Path) -> None:
    folder = publish(run, tmp_path / "reference")
    for path in (folder / "tables/table1.csv", folder / "scores/classification.csv"):
        text = path.read_text().replace("ERM", "ref: Bayes pooled").replace(POOLED, NONE)
        path.write_text(text)
    found = explain(folder, "table1", "r2=0.70", "ref: Bayes pooled", "test_acc", checkout=checkout)
    assert (found.chosen.method, found.chosen.options) == ("", {})
    assert "train_method" not in [job.rule for job in found.jobs]


def test_one_of_several_periods(run: Path, checkout: Path, tmp_path: Path) -> None:
    folder = publish(run, tmp_path / "reference")
    path = folder / "config.yaml"
    path.write_text(path.read_text().replace("protocol: accuracy", "protocol: period"))
    for file in ("tables/table1.csv", "scores/classification.csv"):
        text = (folder / file).read_text()
        (folder / file).write_text(text.replace("r2=0.70", "period=1900-1919"))
    found = explain(folder, "table1", "period=1900-1919", *CELL[2:], checkout=checkout)
    assert [row["value"] for row in found.seeds] == VALUES[NETWORK]
    assert [row["iteration"] for row in found.seeds] == [1, 2, 1]
    assert found.data["generator"] == "classification"
    marked = explain(folder, "table1", "period=1900-1919,H=I", *CELL[2:], checkout=checkout)
    assert "H=I" in marked.jobs[0].place
