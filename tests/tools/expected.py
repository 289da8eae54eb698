"""What the tables have to show, from the configuration alone."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from kerhrm.config.names import folder_of
from kerhrm.config.resolve import resolve
from kerhrm.config.schema import Experiment, Setting
from kerhrm.config.sharing import Sharing
from kerhrm.data.sources.king_county import PERIODS
from kerhrm.methods.registry import METHODS, NONE, ORACLE, ROWS
from kerhrm.scoring.scores import CONSTANTS, closed_forms
from kerhrm.sections import Section

_ALL = resolve({"preset": "smoke"}, Path(__file__).parents[2] / "config").experiments
EXPERIMENTS = {name: e for name, e in _ALL.items() if e.in_all}
TUNED = {name: e for name, e in EXPERIMENTS.items() if e.tuning}
SETUPS = EXPERIMENTS | {f"tune-{name}": e.for_tuning() for name, e in TUNED.items()}
SHARED = Sharing(SETUPS)
TABLES = sorted({e.table for e in EXPERIMENTS.values()})
FIGURES = [name for name in TABLES if name.startswith("figure")]
SUFFIXES = ("csv", "md", "tex")
METRICS = {
    "accuracy": ["train_acc", "test_acc", "generalisation_gap"],
    "mean_error": ["mean_error", "std_error"],
    "period": ["mse"],
}
#: Methods that are given the true environments, and KerHRM where it is given them.
LABELLED = ("irm", "iga", "true_environments")

#: rules between the data set and the predictions
TRAINING = {
    "extract_ntf",
    "reduce_ntf",
    "learn_environments",
    "learn_direction",
    "predict_ntf",
    "train_network",
    "train_method",
    "train_on_features",
    "train_whole",
    "test_heterogeneity",
    "learn_beside",
}

Cell = tuple[str, str, str, str]  # setting, method, selection, metric


def of_table(table: str) -> dict[str, Experiment]:
    """Experiments that a table shows."""
    return {name: e for name, e in EXPERIMENTS.items() if e.table == table}


def stems(run: Iterable[str]) -> list[str]:
    """Prediction files of a setting."""
    return [row.stem for name in run for row in METHODS[name].rows]


def stage_of(stem: str) -> str:
    """The stage of sharing that a prediction file belongs to."""
    steps = {"kerhrm-s": "direction", "kerhrm-ntf": "direction", "kerhrm-network": "network"}
    return steps.get(stem, f"method:{stem.removesuffix('-ntf')}")


def place(experiment: str, setting: str, stage: str) -> str:
    """Folder, below the results, of the setting that makes a stage's files."""
    owner, name = SHARED.owner(experiment, setting, stage)
    return f"{owner}/{folder_of(name)}"


def chosen(experiment: Experiment, label: str, method: str) -> dict[str, Section]:
    """Option sets of a method in a setting, by the selection rules that a table shows."""
    section = getattr(experiment.settings[label].methods, METHODS[method].section)
    own = METHODS[method].rule
    if not METHODS[method].grid:
        return {own: section}
    return {own: section.selected} | section.rules


def searched(experiment: Experiment, label: str) -> bool:
    """Whether `tune` looks at a setting; there, and nowhere else, tables show an oracle."""
    return experiment.tuning is not None and label in experiment.tuning.settings


def rows(experiment: Experiment, label: str) -> Iterator[tuple[str, str]]:
    """Methods and selection rules that a setting shows."""
    setting = experiment.settings[label]
    for name in setting.run:
        rules = list(chosen(experiment, label, name))
        if METHODS[name].grid and searched(experiment, label):
            rules.append(ORACLE)
        for row in METHODS[name].rows:
            yield from ((row.title, rule) for rule in rules if row.chosen or rule != row.rule)
    constant = ROWS[CONSTANTS[experiment.protocol]]
    yield constant.title, constant.rule
    for name in closed_forms(setting.data.model_dump(mode="json")):
        yield name, NONE


def of_iterations(setting: Setting) -> set[Cell]:
    """Cells of Figure 2, whose iteration 0 has no environments to differ."""
    found: set[Cell] = set()
    ends = {"kerhrm-ntf": setting.methods.kerhrm, "released": setting.methods.released}
    for stem, options in ends.items():
        row, begin = ROWS[stem], 0 if stem == "kerhrm-ntf" else 1
        for t in range(begin, options.iterations + 1):
            metrics = ("train_acc", "test_acc", "d_kl") if t else ("train_acc", "test_acc")
            found |= {(f"iteration={t}", row.title, row.rule, metric) for metric in metrics}
    return found


def cells(table: str) -> set[Cell]:
    """Every cell of a table."""
    found: set[Cell] = set()
    for experiment in of_table(table).values():
        for label, setting in experiment.settings.items():
            if table == "figure2":
                found |= of_iterations(setting)
                continue
            shown = set(rows(experiment, label))
            mark = "".join(label.partition(",")[1:])
            periods = [f"period={period}{mark}" for period in PERIODS]
            labels = periods if experiment.protocol == "period" else [label]
            metrics = METRICS[experiment.protocol]
            found |= {(s, *row, metric) for s in labels for row in shown for metric in metrics}
    return found
