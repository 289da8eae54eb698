"""Costs of a run's jobs, on their way to the published ones and back."""

import json
from pathlib import Path

import pytest

from kerhrm.costs.benchmarks import Cost, as_text, measured, published, sized
from kerhrm.costs.finished import comparison, jobs_of
from kerhrm.costs.predict import START, Stored
from kerhrm.costs.rate import gemm_rate
from kerhrm.costs.reference import stored
from kerhrm.errors import KerhrmError

DATA, SCORE = ("generate_data", "one", "r2=0.70"), ("score", "one", "r2=0.70")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two jobs, the second of which reads what the first has written."""
    monkeypatch.chdir(tmp_path)
    folder = Path("results/mine")
    for number, (key, memory, size) in enumerate(((DATA, "150.5", 3000), (SCORE, "NA", 500))):
        place, output = "/".join(key), folder / f"{key[0]}.npz"
        files = {
            f"benchmarks/{place}.tsv": f"s\tmax_rss\n{1.5 + number}\t{memory}\n",
            f"made/{number}.json": json.dumps(
                {
                    "inputs": [str(folder / f"{DATA[0]}.npz")] * number,
                    "outputs": [str(output), "gone"],
                    "log": [str(folder / "logs" / f"{place}.log")],
                }
            ),
            f"{key[0]}.npz": "x" * size,
        }
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    for number, text in enumerate(("", "[]", "3", '{"outputs": []}'), start=2):  # say nothing
        (folder / f"made/{number}.json").write_text(text)
    return folder


def test_a_runs_costs(run: Path) -> None:
    assert measured(run) == {DATA: Cost(1.5, 150.5, 0.003), SCORE: Cost(2.5, None, 0.0005)}
    assert measured(run / "nowhere") == {}


def test_published_costs_come_back(run: Path) -> None:
    costs = sized(measured(run) | {("verify",): Cost(1.0)}, {DATA: 7.0}.get)
    path = run / "benchmarks.tsv"
    path.write_text(as_text(costs))
    assert published(path) == costs
    assert costs[DATA] == Cost(1.5, 150.5, 0.003, 7.0)
    assert published(run / "nowhere.tsv") == {}


@pytest.mark.parametrize("text", ["rule\tplace\nscore\ta\n", "rule\tplace\ts\nscore\ta\tlong\n"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "benchmarks.tsv"
    path.write_text(text)
    with pytest.raises(KerhrmError, match=r"benchmarks\.tsv holds no costs of jobs"):
        published(path)


def test_jobs_need_those_whose_outputs_they_read(run: Path) -> None:
    jobs = jobs_of(run, {})
    assert [(job.key, job.needs) for job in jobs.values()] == [(DATA, []), (SCORE, [0])]


def test_a_run_without_benchmarks_is_compared_with_nothing(tmp_path: Path) -> None:
    with pytest.raises(KerhrmError, match="has no benchmarks"):
        comparison(tmp_path, Stored({}, {}, lambda: 1.0), 2)


def test_speeds_of_two_machines(tmp_path: Path) -> None:
    assert gemm_rate() > 0
    assert stored(tmp_path).slower() == 1.0  # where it is not known
    (tmp_path / "versions.json").write_text('{"gemm_gflops": 1e9}')
    assert stored(tmp_path).slower() > 1000


def test_tables_that_were_published_apart_have_costs_of_their_own(tmp_path: Path) -> None:
    """Of another machine, half as fast; where both know a job the reference's is told."""
    apart = tmp_path / "full"
    apart.mkdir()
    costs = {DATA: Cost(9.0), SCORE: Cost(START + 10, 5.0, 6.0, 7.0)}
    (apart / "benchmarks.tsv").write_text(as_text(costs))
    assert stored(tmp_path).reference == costs
    (apart / "versions.json").write_text('{"gemm_gflops": 50}')
    assert stored(tmp_path).reference == costs  # the reference's speed is not known
    (tmp_path / "versions.json").write_text('{"gemm_gflops": 100}')
    (tmp_path / "benchmarks.tsv").write_text(as_text({DATA: Cost(1.0)}))
    assert stored(tmp_path).reference == {DATA: Cost(1.0), SCORE: Cost(START + 5, 5.0, 6.0, 7.0)}
