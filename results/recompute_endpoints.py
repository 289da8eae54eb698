"""Recompute every endpoint from the published scores; imports nothing of the package.

    python results/recompute_endpoints.py [FOLDER]

FOLDER (results/reference) has ``scores/TABLE.csv.gz`` and ``endpoints.csv``.  The exit
status is 1 if a number there departs from the one computed here by more than 1e-9, or
an outcome differs.
"""

import csv
import gzip
import math
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import yaml
from scipy import stats

ROOT = Path(__file__).parents[1]
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


def main(folder):
    """Compare all endpoints; return the number of departures."""
    spec = yaml.safe_load((ROOT / "config/endpoints.yaml").read_text())
    paper = yaml.safe_load((ROOT / "config/paper_values.yaml").read_text())
    with open(folder / "endpoints.csv", newline="") as file:
        published = {
            (row["table"], row["part"], row["method"]): row
            for row in csv.DictReader(file)
        }
    found = endpoints(folder, spec, paper, {table for table, _, _ in published})
    wrong = len(published.keys() ^ found.keys())
    for key, row in found.items():
        higher = spec["tables"][key[0]]["metric"] == "test_acc"
        words = {
            f"outcome{ending}": outcome(row, higher, ending)
            for ending in ("", "_exact")
        }
        theirs = published.get(key, {})
        same = all(theirs.get(name) == word for name, word in words.items()) and all(
            abs(float(theirs[name]) - value) <= 1e-9 for name, value in row.items()
        )
        wrong += not same
        numbers = f"{row['difference']:7.3f}"
        for ending in ("", "_exact"):
            low, high = row[f"ci_low{ending}"], row[f"ci_high{ending}"]
            numbers += f" [{low:6.3f}, {high:6.3f}] {words[f'outcome{ending}']:10}"
        table = ",".join(filter(None, key[:2]))
        print(f"{table:10}  {key[2]:24} {numbers} {'' if same else 'DEPARTS'}")
    return wrong


if __name__ == "__main__":
    departures = main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results/reference"
    )
    print(f"{departures} departures")
    sys.exit(departures > 0)
