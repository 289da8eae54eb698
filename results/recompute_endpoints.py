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


def values(path, method, metric):
    """By seed and setting: rows of the first criterion, the method's own."""
    found, first = defaultdict(dict), {}
    with gzip.open(path, "rt", newline="") as file:
        for row in csv.DictReader(file):
            if (row["method"], row["metric"]) != (method, metric):
                continue
            own = first.setdefault(row["setting"], row["selection"])
            if row["selection"] == own:
                found[row["seed"]][row["setting"]] = float(row["value"] or "nan")
    return found


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
    error = statistics.stdev(means) * math.sqrt(1 / n + 1 / runs)
    t = stats.t(n - 1)
    half = t.ppf(0.975) * error
    return {
        "n_settings": len(settings),
        "n_seeds": n,
        "paper": paper,
        "difference": difference,
        "mean": difference + paper,
        "ci_low": difference - half,
        "ci_high": difference + half,
        "p": 2 * t.sf(abs(difference) / error),
        "detectable": half + t.ppf(0.8) * error,
        "margin": margin if margin >= 0 else -margin * paper,
    }


def outcome(row, p, higher_is_better):
    """Reproduced, better, worse or open."""
    if -row["margin"] <= row["ci_low"] and row["ci_high"] <= row["margin"]:
        return "reproduced"
    if p > 0.05:
        return "open"
    return "better" if (row["difference"] > 0) == higher_is_better else "worse"


def main(folder):
    """Compare all endpoints; return the number of departures."""
    spec = yaml.safe_load((ROOT / "config/endpoints.yaml").read_text())
    paper = yaml.safe_load((ROOT / "config/paper_values.yaml").read_text())
    with open(folder / "endpoints.csv", newline="") as file:
        published = {(row["table"], row["method"]): row for row in csv.DictReader(file)}
    found = {}
    for table, at in spec["tables"].items():
        if table not in {name for name, _ in published}:
            print(f"{table}  is not published yet")
            continue
        for method in (*spec["family"], *spec["others"]):
            name, metric = PRINTED_AS.get(method, method), at["metric"]
            printed = {s: m[name][metric] for s, m in paper[table].items() if name in m}
            if printed and method not in at.get("without", ()):
                rows = values(folder / "scores" / f"{table}.csv.gz", method, metric)
                margin = at.get("margin", -at.get("relative_margin", 0))
                found[table, method] = endpoint(rows, printed, margin, at["runs"])
    family = sorted(
        (k for k in found if k[1] in spec["family"]), key=lambda k: found[k]["p"]
    )
    largest = 0.0
    for i, key in enumerate(family):
        largest = max(largest, min(1.0, found[key]["p"] * (len(family) - i)))
        found[key]["p_holm"] = largest
    wrong = len(published.keys() ^ found.keys())
    for (table, method), row in found.items():
        higher = spec["tables"][table]["metric"] == "test_acc"
        decided = outcome(row, row.get("p_holm", row["p"]), higher)
        theirs = published.get((table, method), {})
        same = theirs.get("outcome") == decided and all(
            abs(float(theirs[name]) - value) <= 1e-9 for name, value in row.items()
        )
        wrong += not same
        low, high = row["ci_low"], row["ci_high"]
        numbers = f"{row['difference']:7.3f} [{low:6.3f}, {high:6.3f}]"
        print(
            f"{table}  {method:24} {numbers}  {decided:10}  {'' if same else 'DEPARTS'}"
        )
    return wrong


if __name__ == "__main__":
    departures = main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "results/reference"
    )
    print(f"{departures} departures")
    sys.exit(departures > 0)
