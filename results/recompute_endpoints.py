"""Recompute every endpoint from the published scores; imports nothing of the package.

    python results/recompute_endpoints.py [FOLDER]

FOLDER (results/reference) has ``scores/TABLE.csv.gz`` and ``endpoints.csv``, and may
have ``as_printed_band.csv``, which is computed again if the scores of its tables are
there.  The exit status is 1 if a number there departs from the one computed here by
more than 1e-9, or an outcome differs.
"""

import csv
import gzip
import math
import statistics
import sys
from collections import defaultdict
from itertools import product
from pathlib import Path

import yaml
from scipy import stats

ROOT = Path(__file__).parents[1]
BAND = "as_printed_band.csv"
#: of a number in a CSV file from the one that is computed here
TOLERANCE = 1e-9
PRINTED_AS = {"KerHRM (as printed)": "KerHRM", "KerHRM (authors' code)": "KerHRM"}


def values(path, method, metric, criterion, apart, part):
    """By seed and setting: rows of a criterion, by default of the first one.

    Of the settings with the option ``part``; if that is empty, of those with none of
    ``apart``.
    """
    found, first = defaultdict(dict), {}
    with gzip.open(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            if (row["method"], row["metric"]) != (method, metric):
                continue
            own = criterion or first.setdefault(row["setting"], row["selection"])
            marks = apart & set(row["setting"].split(","))
            if row["selection"] == own and marks == ({part} - {""}):
                found[row["seed"]][row["setting"]] = float(row["value"] or "nan")
    return found


def interval(difference, std, n, runs):
    """Interval, p-value and detectable difference; the paper's mean is of ``runs``."""
    error = std * math.sqrt(1 / n + 1 / runs)
    t = stats.t(n - 1)
    half = t.ppf(0.975) * error
    return {
        "ci_low": difference - half,
        "ci_high": difference + half,
        "p": 2 * t.sf(abs(difference) / error),
        "detectable": half + t.ppf(0.8) * error,
    }


def endpoint(by_seed, printed, margin, runs):
    """Numbers of one endpoint; ``printed`` are the paper's by setting, without H."""
    settings = {
        s: printed[s.removesuffix(",H=I")]
        for seed in by_seed.values()
        for s in seed
        if s.removesuffix(",H=I") in printed
    }
    means = [statistics.fmean(seed[s] for s in settings) for seed in by_seed.values()]
    n, paper = len(means), statistics.fmean(settings.values())
    difference = statistics.fmean(means) - paper
    std = statistics.stdev(means)
    exact = interval(difference, std, n, math.inf)
    del exact["detectable"]
    return {
        "n_settings": len(settings),
        "n_seeds": n,
        "paper": paper,
        "difference": difference,
        "mean": difference + paper,
        "margin": margin if margin >= 0 else -margin * paper,
        **interval(difference, std, n, runs),
        **{f"{name}_exact": number for name, number in exact.items()},
    }


def band(by_seed, printed, margin, grid, higher_is_better):
    """Columns of a band: the lowest and the highest mean over a grid of constants.

    ``printed`` are the paper's numbers by setting, without H and without constants.
    """
    means = {}
    for constants in product(*grid.values()):
        ending = "".join(
            f",{name}={float(value)}"
            for name, value in zip(grid, constants, strict=True)
        )
        numbers = {
            s: printed[s.removesuffix(ending).removesuffix(",H=I")]
            for s in next(iter(by_seed.values()))
            if s.endswith(ending)
        }
        seeds = [
            statistics.fmean(seed[s] for s in numbers) for seed in by_seed.values()
        ]
        means[constants] = (statistics.fmean(seeds), seeds)
    n, paper = len(by_seed), statistics.fmean(numbers.values())
    t = stats.t(n - 1).ppf(0.975)
    row = {
        "n_settings": len(numbers),
        "n_seeds": n,
        "n_constants": len(means),
        "paper": paper,
        "margin": margin if margin >= 0 else -margin * paper,
    }
    for end, pick in (("lowest", min), ("highest", max)):
        constants = pick(means, key=means.get)
        mean, seeds = means[constants]
        half = t * statistics.stdev(seeds) / math.sqrt(n)
        row |= {end: mean, f"{end}_ci_low": mean - half, f"{end}_ci_high": mean + half}
        row |= {
            f"{end}_{name}": value for name, value in zip(grid, constants, strict=True)
        }
    row["outcome"] = word_of_band(row, higher_is_better)
    return row


def word_of_band(row, higher_is_better):
    """Outcome of a band, by docs/protocol.md."""
    paper, low, high = row["paper"], row["lowest_ci_low"], row["highest_ci_high"]
    if paper - row["margin"] <= low and high <= paper + row["margin"]:
        return "reproduced"
    if not low <= paper <= high:
        return "better" if (low > paper) == higher_is_better else "worse"
    if row["lowest_ci_high"] < paper or row["highest_ci_low"] > paper:
        return "unprinted constants decide"
    return "open"


def bands(folder, spec, paper, keys):
    """Bands by table, part and method, of those keys whose scores are published."""
    at_band = spec["band"]
    method, found = at_band["method"], {}
    for table, grid_table in at_band["tables"].items():
        path = folder / "scores" / f"{grid_table}.csv.gz"
        if not path.exists():
            print(f"{grid_table}  is not published yet")
            continue
        at = spec["tables"][table]
        apart, metric = at.get("apart", []), at["metric"]
        name = PRINTED_AS[method]
        printed = {s: m[name][metric] for s, m in paper[table].items() if name in m}
        for part in ("", *apart):
            if (table, part, method) not in keys:
                continue
            found[table, part, method] = band(
                values(path, method, metric, None, set(apart), part),
                printed,
                at.get("margin", -at.get("relative_margin", 0)),
                at_band["grid"],
                metric == "test_acc",
            )
    return found


def correct(family, ending):
    """Holm's correction of the p-values of some rows."""
    largest = 0.0
    for i, row in enumerate(sorted(family, key=lambda row: row[f"p{ending}"])):
        largest = max(largest, min(1.0, row[f"p{ending}"] * (len(family) - i)))
        row[f"p_holm{ending}"] = largest


def outcome(row, higher_is_better, ending):
    """Reproduced, better, worse or open."""
    low, high = row[f"ci_low{ending}"], row[f"ci_high{ending}"]
    if -row["margin"] <= low and high <= row["margin"]:
        return "reproduced"
    if row.get(f"p_holm{ending}", row[f"p{ending}"]) > 0.05:
        return "open"
    return "better" if (row["difference"] > 0) == higher_is_better else "worse"


def endpoints(folder, spec, paper, tables):
    """Numbers of all endpoints by table, part and method."""
    found = {}
    for table, at in spec["tables"].items():
        if table not in tables:
            print(f"{table}  is not published yet")
            continue
        apart, metric = at.get("apart", []), at["metric"]
        path = folder / "scores" / f"{table}.csv.gz"
        margin = at.get("margin", -at.get("relative_margin", 0))
        for part in ("", *apart):
            for method in (*spec["family"], *spec["others"], *spec["baselines"]):
                name = PRINTED_AS.get(method, method)
                by = spec["baselines_by"] if method in spec["baselines"] else None
                printed = {
                    s: m[name][metric] for s, m in paper[table].items() if name in m
                }
                if printed and method not in at.get("without", ()):
                    rows = values(path, method, metric, by, set(apart), part)
                    row = endpoint(rows, printed, margin, at["runs"])
                    found[table, part, method] = row
    family = [
        row
        for (_, part, method), row in found.items()
        if method in spec["family"] and not part
    ]
    for ending in ("", "_exact"):
        correct(family, ending)
    return found


def read(path):
    """Rows of a CSV file by table, part and method; none if it is not there."""
    if not path.exists():
        return {}
    with open(path, newline="") as file:
        rows = [*csv.DictReader(file)]
    return {(row["table"], row["part"], row["method"]): row for row in rows}


def agrees(row, theirs):
    """Whether a row of a file has the numbers and words that are computed here."""
    for name, value in row.items():
        other = theirs.get(name, "")
        if isinstance(value, str):
            if other != value:
                return False
        elif not other or not abs(float(other) - value) <= TOLERANCE:
            return False
    return True


def compare_bands(found, published):
    """Print each band; return the number of departures."""
    wrong = 0
    for key, row in found.items():
        same = agrees(row, published.get(key, {}))
        wrong += not same
        table = ",".join(filter(None, key[:2]))
        ends = f"{row['lowest']:6.3f} to {row['highest']:6.3f}"
        whole = f"[{row['lowest_ci_low']:6.3f}, {row['highest_ci_high']:6.3f}]"
        words = f"{row['outcome']} {'' if same else 'DEPARTS'}"
        print(f"{table:10}  {key[2]:24} {ends} {whole} {words}")
    return wrong


def main(folder):
    """Compare all endpoints and bands; return the number of departures."""
    spec = yaml.safe_load((ROOT / "config/endpoints.yaml").read_text())
    paper = yaml.safe_load((ROOT / "config/paper_values.yaml").read_text())
    published = read(folder / "endpoints.csv")
    published_bands = {
        key: row for key, row in read(folder / BAND).items() if row["lowest"]
    }
    found_bands = {}
    if published_bands:
        found_bands = bands(folder, spec, paper, published_bands.keys())
    wrong_bands = compare_bands(found_bands, published_bands)
    found = endpoints(folder, spec, paper, {table for table, _, _ in published})
    wrong = len(published.keys() ^ found.keys())
    for key, row in found.items():
        higher = spec["tables"][key[0]]["metric"] == "test_acc"
        words = {
            f"outcome{ending}": outcome(row, higher, ending)
            for ending in ("", "_exact")
        }
        of_band = found_bands.get(key) or published_bands.get(key)
        if of_band:
            row |= {name: float(of_band[name]) for name in ("lowest", "highest")}
            words = dict.fromkeys(words, of_band["outcome"])
        same = agrees(row | words, published.get(key, {}))
        wrong += not same
        numbers = f"{row['difference']:7.3f}"
        for ending in ("", "_exact"):
            low, high = row[f"ci_low{ending}"], row[f"ci_high{ending}"]
            numbers += f" [{low:6.3f}, {high:6.3f}] {words[f'outcome{ending}']:10}"
        table = ",".join(filter(None, key[:2]))
        print(f"{table:10}  {key[2]:24} {numbers} {'' if same else 'DEPARTS'}")
    return wrong + wrong_bands


if __name__ == "__main__":
    departures = main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results/reference"
    )
    print(f"{departures} departures")
    sys.exit(departures > 0)
