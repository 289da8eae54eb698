"""``docs/heterogeneity.md``: size and power of the test of heterogeneity, and what it guards.

``python -m benchmarks.heterogeneity [--part NAME]`` draws what is missing in
``results/study/heterogeneity_draws.csv``, one draw after the other on one core, then writes
``heterogeneity.csv``, ``heterogeneity_errors.csv`` and the page.  All parts take some 20 minutes;
``--part none`` only writes.
"""

import argparse
import os
import time
from pathlib import Path

import jinja2
import pandas as pd
from scipy.stats import binomtest

from kerhrm.algorithm.options import Heterogeneity
from kerhrm.heterogeneity.records import FOUND, NONE
from kerhrm.storage.arrays import write_text

FOLDER, PAGE = Path("results/study"), Path("docs/heterogeneity.md")
TEMPLATE = Path(__file__).with_name("heterogeneity.md.j2")
DRAWS, SUMMARY, ERRORS = (f"heterogeneity{end}.csv" for end in ("_draws", "", "_errors"))
NAMES = ("size", "power", "project", "binary", "null sets", "houses", "estimators")
METHODS = ["ERM (network)", "pooled ERM on the features", "KerHRM", "KerHRM without guard"]
CALLED = ["estimators.ERM", "KerHRMRegressor"]
#: a law outside of the null hypothesis, among those without environments
OUTSIDE = "skew with the sign of the mean"
#: the first seed that was drawn, at n = 1000, after all constants of the test had been fixed
FRESH = 20
KEY = ["part", "case", "n", "seed"]


def draw(part: str, folder: Path = FOLDER) -> None:
    """Draw what the table of draws lacks of a part; each draw is on disk when it is done."""
    from benchmarks.heterogeneity_draws import PARTS  # seconds, which the page need not spend

    path = folder / DRAWS
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    done = {tuple(row[name] for name in KEY) for row in rows}
    for case, n, seed, one in PARTS[part]():
        key = part, case, n, seed
        if key in done:
            continue
        begin = time.process_time()
        drawn = one()
        seconds = round(time.process_time() - begin, 2)
        rows += [dict(zip(KEY, key, strict=True)) | row | {"seconds": seconds} for row in drawn]
        write_text(path, pd.DataFrame(rows).to_csv(index=False))


def summary(draws: pd.DataFrame) -> pd.DataFrame:
    """A row a case: how often something was found, with the exact (Clopper-Pearson) interval."""
    rows = []
    for (part, case, n), group in draws.groupby(KEY[:3], sort=False):
        found, size = int(group["found"].sum()), len(group)
        interval = binomtest(found, size).proportion_ci()
        z = (group["gain"] - group["null_mean"]) / group["null_std"]
        rows.append(
            {"part": part, "case": case, "n": n, "draws": size, "found": found,
             "rate": found / size, "low": interval.low, "high": interval.high,
             "below_level": int((group["p_value"] <= 0.05).sum()),
             "gain": group["gain"].median(), "null": group["null_mean"].median(),
             "z": z.median(), "seconds": group["seconds"].median()}
        )  # fmt: skip
    return pd.DataFrame(rows).round(4)


def mean_errors(draws: pd.DataFrame) -> pd.DataFrame:
    """A row per data, environment and method: mean and interval of the error over the seeds."""
    keys = ["part", "case", "environment", "method"]
    draws = draws.assign(environment=draws["environment"].fillna(""))
    rows = []
    for key, group in draws.groupby(keys, sort=False):
        error, half = group["error"], 1.96 * group["error"].std() / len(group) ** 0.5
        rows.append(
            dict(zip(keys, key, strict=True))
            | {"seeds": len(group), "found": int(group["found"].sum()), "mean": error.mean(),
               "low": error.mean() - half, "high": error.mean() + half}
        )  # fmt: skip
    return pd.DataFrame(rows).round(5)


def write(folder: Path = FOLDER) -> None:
    """The tables that follow from the draws."""
    draws = pd.read_csv(folder / DRAWS)
    tests = draws["method"].isna()
    write_text(folder / SUMMARY, summary(draws[tests]).to_csv(index=False))
    write_text(folder / ERRORS, mean_errors(draws[~tests]).to_csv(index=False))


def text(folder: Path = FOLDER, page: Path = PAGE) -> str:
    """The page."""
    tests, errors = pd.read_csv(folder / SUMMARY), pd.read_csv(folder / ERRORS)
    errors = errors.fillna({"environment": ""})
    parts = "null sets", "houses", "estimators"
    nulls, houses, called = (errors[errors["part"] == part] for part in parts)
    size = tests[(tests["part"] == "size") & (tests["case"] != OUTSIDE)]
    fresh = pd.read_csv(folder / DRAWS).query(
        "part == 'size' and n == 1000 and seed >= @FRESH and case != @OUTSIDE"
    )
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, trim_blocks=True
    )
    return environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        **{part: rates(tests[tests["part"] == part]) for part in ("size", "power", "project")},
        binary=against_nulls(tests[tests["part"] == "binary"]),
        alarms=f"{size['found'].sum()} of {size['draws'].sum()}",
        worst=f"{size['rate'].max():.0%}",
        fresh=f"{fresh['found'].astype(bool).sum()} of {len(fresh)}",
        below_level=f"{size['below_level'].sum() / size['draws'].sum():.0%}",
        options=Heterogeneity(),
        found=FOUND,
        nothing=NONE,
        outside=OUTSIDE,
        seconds=f"{size['seconds'].median():.1f}",
        nulls=relative(nulls, METHODS, "KerHRM"),
        called=relative(called, CALLED, "KerHRMRegressor"),
        called_seeds=int(called["seeds"].max()),
        houses=by_period(houses),
        above=f"{above_interval(houses)} of {len(houses) // len(METHODS)}",
        house_seeds=int(houses["seeds"].max()),
        house_alarms=int(houses["found"].max()),
        folder=os.path.relpath(folder, page.parent),
    )


def rates(tests: pd.DataFrame) -> str:
    """How often environments were found, by case."""
    interval = [f"{r.low:.0%} to {r.high:.0%}" for r in tests.itertuples()]
    shown = {
        "data": tests["case"].str.replace("|", r"\|"),
        "n": tests["n"],
        "found": [f"{r.found} of {r.draws}" for r in tests.itertuples()],
        "95 % interval": interval,
        "p <= .05": tests["below_level"],
        "gain": tests["gain"].map("{:.3f}".format),
        "permuted": tests["null"].map("{:.3f}".format),
        "z": tests["z"].map("{:.1f}".format),
    }
    return markdown(pd.DataFrame(shown))


def against_nulls(tests: pd.DataFrame) -> str:
    """Gains of labels and of those drawn anew."""
    shown = tests[["case", "draws", "gain", "null", "z"]].rename(columns={"null": "drawn anew"})
    for name in ("gain", "drawn anew"):
        shown[name] = shown[name].map("{:.3f}".format)
    return markdown(shown.assign(z=shown["z"].map("{:.1f}".format)))


def relative(errors: pd.DataFrame, methods: list[str], own: str) -> str:
    """Mean errors of every method, and those of ``own`` over those of ERM of each kind."""
    wide = errors.pivot_table(index="case", columns="method", values="mean", sort=False)[methods]
    shown = wide.map("{:.3f}".format)
    for method in [name for name in methods if "ERM" in name]:
        shown[f"{own} / {method}"] = (wide[own] / wide[method]).map("{:.3f}".format)
    shown.insert(0, "found", errors.groupby("case", sort=False)["found"].first())
    return markdown(shown.rename_axis(index="data", columns=None).reset_index())


def by_period(errors: pd.DataFrame) -> str:
    """Mean errors, ERM's with its interval, in every period."""
    errors = errors.assign(shown=errors["mean"].map("{:.2f}".format))
    ends = errors["low"].map("{:.2f}".format) + " to " + errors["high"].map("{:.2f}".format)
    network = errors["method"] == METHODS[0]
    errors.loc[network, "shown"] += " (" + ends[network] + ")"
    wide = errors.pivot_table(
        index=["case", "environment"], columns="method", values="shown", aggfunc="first", sort=False
    )[METHODS]
    names = {"case": "data", "environment": "period"}
    return markdown(wide.rename_axis(columns=None).reset_index().rename(columns=names))


def above_interval(errors: pd.DataFrame) -> int:
    """In how many periods KerHRM's mean error lies above the network's interval."""
    wide = errors.pivot(index=["case", "environment"], columns="method")
    return int((wide["mean"]["KerHRM"] > wide["high"][METHODS[0]]).sum())


def markdown(frame: pd.DataFrame) -> str:
    return str(frame.to_markdown(index=False, disable_numparse=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", choices=[*NAMES, "none", "all"], default="all")
    part = parser.parse_args().part
    for name in NAMES if part == "all" else [part] * (part != "none"):
        draw(name)
    write()
    write_text(PAGE, text())


if __name__ == "__main__":
    main()
