"""A run that has ended, against what the published costs foretell of it."""

from pathlib import Path

from kerhrm.config.files import read
from kerhrm.config.schema import Config
from kerhrm.costs.benchmarks import Cost, Key, measured, notes
from kerhrm.costs.predict import Job, Stored, by_kind, duration, predict
from kerhrm.costs.sizes import size_of
from kerhrm.errors import KerhrmError


def jobs_of(run: Path, sizes: dict[Key, float | None]) -> dict[int, Job]:
    """Jobs of a run by its notes, each with those whose outputs it has read."""
    made = notes(run)
    numbers = {key: number for number, key in enumerate(made)}
    makers = {file: numbers[key] for key, note in made.items() for file in note["outputs"]}
    return {
        numbers[key]: Job(
            key, 1, 0.0, [makers[f] for f in note["inputs"] if f in makers], sizes.get(key)
        )
        for key, note in made.items()
    }


def comparison(run: Path, stored: Stored, cores: int) -> str:
    """Predicted and actual seconds of a run by rule, as Markdown, and its wall time.

    ``stored`` knows nothing of the run itself.  Actual wall time is from the first job's start to
    the last one's end, and means something after a run without a pause.

    Raises
    ------
    KerhrmError
        If the run has left no benchmarks.
    """
    costs = measured(run)
    if not costs or not notes(run) or not (run / "config.yaml").exists():
        problem = f"{run} has no benchmarks, no notes of jobs or no configuration"
        raise KerhrmError(problem, "run the workflow to its end first")
    experiments = Config.model_validate(read(run / "config.yaml").content).experiments
    sizes = {key: size_of(key, experiments) for key in costs}

    def guess(key: Key) -> Cost | None:
        return stored.cost(key, sizes[key])

    lines = ["| rule | jobs | predicted, s | actual, s | ratio |", "|:--|--:|--:|--:|--:|"]
    rows = [*by_kind(costs, guess)]
    _, jobs, predicted, actual = zip(*rows, strict=True)
    rows.append(("all", sum(jobs), sum(predicted), sum(actual)))
    lines += [f"| {r} | {n} | {p:.1f} | {a:.1f} | {p / a:.2f} |" for r, n, p, a in rows]
    foretold = predict(jobs_of(run, sizes), stored, cores).plan
    times = f"predicted {duration(foretold.seconds)}, actual {duration(_wall_seconds(run, costs))}"
    return "\n".join([*lines, "", f"Wall time on {cores} cores: {times}."])


def _wall_seconds(run: Path, costs: dict[Key, Cost]) -> float:
    """From the start of the first job to the end of the last: benchmarks are written at ends."""
    ends = {key: (run / "benchmarks" / f"{'/'.join(key)}.tsv").stat().st_mtime for key in costs}
    return max(ends.values()) - min(end - costs[key].s for key, end in ends.items())
