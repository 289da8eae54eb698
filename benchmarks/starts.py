"""``docs/clustering.md``: where EM's starts end, what lambda does, and EIIL's reference.

``python -m benchmarks.starts [--part NAME]`` draws what ``results/study/starts_*.csv`` lack,
one drawing after the other on one core, then draws the figures and writes the page.  All parts take
some ten minutes; ``--part none`` only writes.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd
from scipy.special import gammaln

from kerhrm.algorithm.options import IGD, Clustering
from kerhrm.storage.arrays import write_text

FOLDER, PAGE = Path("results/study"), Path("docs/clustering.md")
EIIL = Path("results/reference/eiil_reference/eiil_reference.csv")
TEMPLATE = Path(__file__).with_name("starts.md.j2")
#: what a drawing of each part is known by; its rows are in starts_<part>.csv
KEYS = {
    "iterations": ["case", "seed", "em", "clusters"],
    "splits": ["case", "seed", "em"],
    "lambda": ["case", "seed", "cosine", "lambda"],
    "reference": ["r2", "seed"],
}
GOOD = 0.8  #: area under the curve above which a split counts as the expected one
NEAR = 0.005  #: validation accuracies that hardly differ
LABEL = Clustering().max_label_information
RESTARTS = Clustering().restarts


def parts() -> dict[str, Callable[[], Iterator[Any]]]:
    """What draws each part, on one core."""
    import torch

    from benchmarks import starts_draws, starts_networks

    torch.set_num_threads(1)
    return {
        "iterations": starts_draws.over_clusters,
        "splits": starts_draws.splits,
        "lambda": starts_networks.over_lambda,
        "reference": starts_networks.references,
    }


def draw(part: str, drawings: Iterator[Any], folder: Path = FOLDER) -> None:
    """Draw what the table of a part lacks; each drawing is on disk when it is done."""
    path, key = table(part, folder), KEYS[part]
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    done = {tuple(row[name] for name in key) for row in rows}
    for known, one in drawings:
        if known in done:
            continue
        rows += [dict(zip(key, known, strict=True)) | row for row in one()]
        write_text(path, pd.DataFrame(rows).to_csv(index=False))


def table(part: str, folder: Path = FOLDER) -> Path:
    return folder / f"starts_{part}.csv"


def tables(folder: Path = FOLDER) -> dict[str, pd.DataFrame]:
    """All parts' rows."""
    return {part: pd.read_csv(table(part, folder)) for part in KEYS}


def each_start(rows: pd.DataFrame) -> pd.DataFrame:
    """A row per start, of rows that count them."""
    return rows.loc[rows.index.repeat(rows["starts"])].reset_index(drop=True)


def usable(rows: pd.DataFrame) -> pd.Series:
    """Which ends M_c would choose from."""
    return (rows["label_information"] <= LABEL) & ~rows["empty"].astype(bool)


def preference(rows: pd.DataFrame, screened: bool) -> np.ndarray:
    """By which M_c chooses, the larger the better: the held-out likelihood of usable ends first."""
    likelihood = rows["held_out"].to_numpy()
    return np.where(usable(rows) | (not screened), likelihood, likelihood - 1e6)


def best_of(preferences: np.ndarray, results: np.ndarray, draws: int) -> float:
    """Expected result of the preferred one of some starts, drawn from all without replacement.

    The j-th best of n, j = 0, ..., is the best of m with probability C(n-1-j, m-1) / C(n, m).
    """
    n, by_rank = len(results), np.argsort(-preferences, kind="stable")
    below = n - 1.0 - np.arange(n - draws + 1)  # the others are worse than m - 1 of any m
    log_weight = _log_choose(below, draws - 1) - _log_choose(float(n), draws)
    return float(np.exp(log_weight) @ results[by_rank[: len(below)]])


def _log_choose(n: Any, k: int) -> Any:
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def convergence(rows: pd.DataFrame) -> pd.DataFrame:
    """EM over K: quartiles of its iterations, shares of label splits and of unconverged starts."""
    groups = each_start(rows).groupby(["case", "em", "clusters"], sort=False)
    quartiles = groups["iterations"].quantile([0.25, 0.5, 0.75]).unstack()
    quartiles.columns = ["low", "median", "high"]
    shares = groups[["label_split", "converged"]].mean()
    shares["unconverged"] = 1 - shares.pop("converged")
    return quartiles.join(shares).join(groups.size().rename("starts")).reset_index()


def outcomes(rows: pd.DataFrame) -> pd.DataFrame:
    """Shares of the ends of starts, over all seeds."""
    every = each_start(rows)
    every["label_split"] = every["label_information"] > LABEL
    every["expected"] = (every["auc"] >= GOOD) & usable(every)
    every["likely"] = every["label_split"] & (every["held_out"] > _likeliest_usable(every))
    groups = every.groupby(["case", "em"], sort=False)
    shares = groups[["label_split", "likely", "empty", "expected"]].mean()
    return shares.join(groups.size().rename("starts")).reset_index()


def _likeliest_usable(every: pd.DataFrame) -> pd.Series:
    """The held-out likelihood of M_c's choice, of every start's case, seed and EM."""
    chosen = every["held_out"].where(usable(every))
    return chosen.groupby([every[name] for name in KEYS["splits"]]).transform("max")


def choices(rows: pd.DataFrame) -> pd.DataFrame:
    """Per case, seed and EM: test results of what M_c's rule chooses, and of other ways."""
    found = []
    for key, group in each_start(rows).groupby(KEYS["splits"], sort=False):
        result = group["result"].to_numpy()
        screened, plain = preference(group, True), preference(group, False)
        winner = group.iloc[int(screened.argmax())]
        smaller = is_error(str(key[0]))
        found.append(
            dict(zip(KEYS["splits"], key, strict=True))
            | {"one": best_of(screened, result, 1),
               "plain": best_of(plain, result, RESTARTS),
               "few": best_of(screened, result, RESTARTS),
               "all": float(winner["result"]),
               "alpha_0": float(winner["result_alpha_0"]),
               "oracle": float(result.min() if smaller else result.max()),
               "right": bool(winner["auc"] >= GOOD),
               "plain_right": bool(group["auc"].iloc[int(plain.argmax())] >= GOOD)}
        )  # fmt: skip
    return pd.DataFrame(found)


def is_error(case: str) -> bool:
    """Whether a case's results are errors, the smaller the better."""
    return case.startswith("Table 3")


def over_lambda(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over the seeds, with the least and largest result."""
    groups = rows.groupby(["case", "cosine", "lambda"], sort=False)
    ends = groups["result"].agg(["min", "max", "size"])
    return groups.mean(numeric_only=True).drop(columns="seed").join(ends).reset_index()


def reference(rows: pd.DataFrame) -> pd.DataFrame:
    """EIIL's reference: mean accuracies by steps, and where validation's is highest, or near it."""
    names = ["train", "validation", "test"]
    means = rows.groupby(["r2", "steps"], as_index=False)[names].mean()
    highest = means.groupby("r2")["validation"].transform("max")
    lower = highest - means["validation"]
    return means.assign(best=lower == 0, near=lower <= NEAR)


def eiil(path: Path = EIIL) -> pd.DataFrame:
    """EIIL's test accuracy by r2 and reference steps, of the published table."""
    cells = pd.read_csv(path)
    cells = cells[(cells["metric"] == "test_acc") & (cells["method"] == "EIIL")]
    names = cells["setting"].str.extract(r"^r2=(?P<r2>[\d.]+),reference=(?P<steps>\d+)$").dropna()
    numbers = names.astype({"r2": float, "steps": int})
    return numbers.join(cells[["mean", "ci_low", "ci_high", "n_seeds"]]).reset_index(drop=True)


def text(folder: Path = FOLDER, page: Path = PAGE) -> str:
    """The page."""
    from benchmarks import starts_page

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, trim_blocks=True
    )
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        starts_page.facts(tables(folder), eiil()),
        folder=os.path.relpath(folder, page.parent),
        igd=IGD(),
        clustering=Clustering(),
        good=GOOD,
        near=NEAR,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", choices=[*KEYS, "none", "all"], default="all")
    part = parser.parse_args().part
    if part != "none":
        drawings = parts()
        for name in KEYS if part == "all" else [part]:
            draw(name, drawings[name]())
    if all(table(name).exists() for name in KEYS):
        from benchmarks.starts_figures import write

        write(tables(), eiil(), FOLDER)
        write_text(PAGE, text())


if __name__ == "__main__":
    main()
