"""``docs/scale.md`` from the tables of the studies: ``python -m benchmarks.scale``."""

import os
from pathlib import Path

import jinja2
import pandas as pd

from kerhrm.reporting.page.build import BESIDE
from kerhrm.storage.arrays import write_text

PAGE, FOLDER, REFERENCE = Path("docs/scale.md"), Path("results/scale"), Path("results/reference")
TEMPLATE = Path(__file__).with_name("scale.md.j2")
PUBLIC = "options=public"  #: of the methods' authors
LEARNED = "rule=worst_learned"  #: EIIL, chosen by the worst learned environment
TABLES = BESIDE["scale"]


def text(folder: Path = FOLDER, reference: Path = REFERENCE, page: Path = PAGE) -> str:
    """The page."""
    errors = pd.read_csv(folder / "approximation.csv")
    path = folder / "learning_curve.csv"
    rows = pd.read_csv(path) if path.exists() else None
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, trim_blocks=True
    )
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        accuracies=accuracies(reference),
        means=means(reference),
        public=means(reference, f"14x14,{PUBLIC}"),
        public_large=means(reference, f"28x28,{PUBLIC}"),
        large=means(reference, "28x28"),
        learned=means(reference, f"14x14,{LEARNED}"),
        learned_large=means(reference, f"28x28,{LEARNED}"),
        n_public=_n_seeds(reference, f"14x14,{PUBLIC}"),
        penalties=_markdown(pd.read_csv(folder / "penalties.csv", dtype=str)),
        approximation=approximation(errors),
        n_approximation="10 000",
        seconds_exact=f"{errors.loc[errors['way'] == 'exact', 'seconds'].iloc[0]:.0f}",
        curve=None if rows is None else curve(rows),
        best=None if rows is None else best(rows),
        folder=os.path.relpath(folder, page.parent),
        reference=os.path.relpath(reference, page.parent),
    )


def _headline(reference: Path) -> pd.DataFrame:
    """Headline test accuracies of all tables that are there."""
    paths = [reference / name / f"{name}.csv" for name in TABLES]
    cells = pd.concat([pd.read_csv(p) for p in paths if p.exists()])
    cells = cells[(cells["metric"] == "test_acc") & (cells["selection"] != "oracle")]
    return cells.drop_duplicates(["method", "setting"])


def means(reference: Path, setting: str = "14x14") -> dict[str, str]:
    """Mean test accuracies of one setting, by method."""
    cells = _headline(reference)
    cells = cells[cells["setting"] == setting].set_index("method")
    return {str(name): f"{mean:.3f}" for name, mean in cells["mean"].items()}


def _n_seeds(reference: Path, setting: str) -> int:
    cells = _headline(reference).query("setting == @setting")
    return int(cells["n_seeds"].max()) if len(cells) else 0


def accuracies(reference: Path) -> str:
    """Headline test accuracies, a row a method."""
    cells = _headline(reference)
    cells = cells.assign(shown=_with_deviations(cells["mean"], cells["std"]))
    wide = cells.pivot_table(
        index="method", columns="setting", values="shown", aggfunc="first", sort=False
    )
    return _markdown(wide.fillna("").rename_axis(columns=None).reset_index())


def approximation(errors: pd.DataFrame) -> str:
    """A row a way, a pair of columns a k."""
    errors = errors[errors["way"] != "exact"]
    keys = ["way", "landmarks", "passes", "seconds"]
    rows = []
    for key, part in errors.groupby(keys, sort=False):
        row = dict(zip(keys, key, strict=True))
        row["seconds"] = f"{row['seconds']:.0f}"
        row |= {"landmarks": int(row["landmarks"]), "passes": int(row["passes"])}
        for one in part.itertuples():
            shown = f"{one.spectrum_error:.2%}, {one.labels_changed:.2%}"
            row[f"k = {int(one.k)}"] = shown
        rows.append(row)
    return _markdown(pd.DataFrame(rows))


def best(rows: pd.DataFrame) -> list[dict[str, str]]:
    """By number of images the k with the best test accuracy, nested or not: a bound, no choice."""
    means = rows.groupby(["n", "k"], as_index=False).mean()
    means["best"] = means[["test_acc", "test_acc_nested"]].max(axis=1)
    most = means.loc[means.groupby("n")["best"].idxmax()]
    return [
        {"n": f"{one.n:,.0f}".replace(",", " "), "k": f"{one.k:.0f}", "test_acc": f"{one.best:.3f}"}
        for one in most.itertuples()
    ]


def curve(rows: pd.DataFrame) -> str:
    """Accuracies over the seeds, counts of all their starts, and times of the first seed.

    Times of other seeds may be another machine's.
    """
    rows = rows.astype(dict.fromkeys(("n", "k", "starts", "exact", "label_splits"), int))
    groups = rows.groupby(["n", "k"])
    shown = groups[["starts", "exact", "label_splits"]].sum()
    shown.insert(0, "seeds", groups.size())
    for name in ("test_acc", "test_acc_nested"):
        shown[name] = _with_deviations(groups[name].mean(), groups[name].std())
    first = rows[rows["seed"] == rows["seed"].min()].set_index(["n", "k"])
    for name in ("features_s", "em_s", "theta_s"):
        shown[name] = first[name].map("{:.1f}".format)
    shown = shown.fillna("").reset_index()
    return _markdown(shown.rename(columns=lambda name: name.replace("_", " ")))


def _with_deviations(means: "pd.Series[float]", deviations: "pd.Series[float]") -> "pd.Series[str]":
    """Texts; of a single number without."""
    shown = deviations.map(lambda s: "" if pd.isna(s) else f" ± {s:.3f}")
    return means.map("{:.3f}".format) + shown


def _markdown(frame: pd.DataFrame) -> str:
    return str(frame.to_markdown(index=False, disable_numparse=True))


if __name__ == "__main__":
    write_text(PAGE, text())
