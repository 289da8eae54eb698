"""What the tables have to show, from the configuration alone."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from kerhrm.config.resolve import resolve
from kerhrm.config.schema import Experiment, Run, Setting
from kerhrm.data.sources.king_county import PERIODS
from kerhrm.methods.registry import NONE, ORACLE, POOLED, ROWS
from kerhrm.scoring.scores import CONSTANTS
from kerhrm.scoring.truths import closed_forms

EXPERIMENTS = resolve({"preset": "smoke"}, Path(__file__).parents[2] / "config").experiments
TABLES = sorted({e.table for e in EXPERIMENTS.values()})
FIGURES = [name for name in TABLES if name.startswith("figure")]
SUFFIXES = ("csv", "md", "tex")
METRICS = {
    "accuracy": ["train_acc", "test_acc", "generalisation_gap"],
    "mean_error": ["mean_error", "std_error"],
    "period": ["mse"],
}
#: what an entry of ``run`` leaves in predictions/, where that has another name
STEMS = {
    "kerhrm": ["kerhrm-s", "kerhrm-ntf"],
    "igd": ["kerhrm-network"],
}
#: methods that choose among candidates, for whom other rules' choices are shown, too
CHOOSERS = ("kerhrm-ntf", "kerhrm-network")
#: Methods that are given the true environments, and KerHRM where it is given them.
LABELLED = ("irm", "iga", "true_environments")

Cell = tuple[str, str, str, str]  # setting, method, selection, metric


def of_table(table: str) -> dict[str, Experiment]:
    """Experiments that a table shows."""
    return {name: e for name, e in EXPERIMENTS.items() if e.table == table}


def stems(run: Iterable[Run]) -> list[str]:
    """Prediction files of a setting."""
    return [stem for name in run for stem in STEMS.get(name, [name])]


def rows(experiment: Experiment, setting: Setting) -> Iterator[tuple[str, str]]:
    """Methods and selection rules that a setting shows."""
    for stem in stems(setting.run):
        yield ROWS[stem].name, ROWS[stem].rule
        if stem in CHOOSERS:
            yield ROWS[stem].name, POOLED
            yield ROWS[stem].name, ORACLE
        elif getattr(getattr(setting.methods, stem, None), "oracle", None):
            yield ROWS[stem].name, ORACLE
    constant = ROWS[CONSTANTS[experiment.protocol]]
    yield constant.name, constant.rule
    for name in closed_forms(setting.data.model_dump(mode="json")):
        yield name, NONE


def cells(table: str) -> set[Cell]:
    """Every cell of a table."""
    found: set[Cell] = set()
    for experiment in of_table(table).values():
        for label, setting in experiment.settings.items():
            if table == "figure2":
                method = ROWS["kerhrm-ntf"]
                shown = {(method.name, method.rule)}
                labels = [f"iteration={t + 1}" for t in range(setting.methods.kerhrm.iterations)]
                metrics = ["train_acc", "test_acc", "d_kl"]
            else:
                shown = set(rows(experiment, setting))
                mark = "".join(label.partition(",")[1:])
                periods = [f"period={period}{mark}" for period in PERIODS]
                labels = periods if experiment.protocol == "period" else [label]
                metrics = METRICS[experiment.protocol]
            found |= {(s, *row, metric) for s in labels for row in shown for metric in metrics}
    return found
