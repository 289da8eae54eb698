"""The tables and numbers of ``docs/clustering.md``."""

from typing import Any

import pandas as pd

from benchmarks.starts import choices, convergence, outcomes, over_lambda, reference
from benchmarks.starts_draws import RIDGE, STARTS, STARTS_OVER_K, VARIANTS
from benchmarks.starts_networks import TRAINED


def facts(tables: dict[str, pd.DataFrame], published: pd.DataFrame) -> dict[str, Any]:
    """What the template asks for."""
    ends, chosen = outcomes(tables["splits"]), choices(tables["splits"])
    over_k, weights = convergence(tables["iterations"]), over_lambda(tables["lambda"])
    return {
        "starts": STARTS,
        "starts_over_k": STARTS_OVER_K,
        "ridge": f"{RIDGE:g}",
        "seeds": counts(tables["splits"]),
        "shares": shares(ends),
        "splits_by_em": by_em(ends, "label_split"),
        "likely_by_em": by_em(ends, "likely"),
        "choices": results(chosen),
        "right": ", ".join(_right(chosen, em, "right") for em in VARIANTS),
        "plain_right": ", ".join(_right(chosen, em, "plain_right") for em in VARIANTS),
        "iterations": iterations(over_k),
        "label_splits": wide(over_k, over_k["label_split"].map("{:.0%}".format)),
        "unconverged": f"{(over_k['unconverged'] * over_k['starts']).sum():.0f}",
        "all_starts": f"{over_k['starts'].sum():,}".replace(",", " "),
        "limits": "; ".join(
            f"{TRAINED[case]} steps for {case}" for case in dict.fromkeys(weights["case"])
        ),
        "lambdas": lambdas(weights),
        "opposite": opposite(tables["lambda"]),
        "references": references(reference(tables["reference"]), published),
        "near_steps": near_steps(reference(tables["reference"])),
        "reference_seeds": tables["reference"]["seed"].nunique(),
    }


def counts(rows: pd.DataFrame) -> str:
    """How many seeds each case has."""
    seeds = rows.groupby("case", sort=False)["seed"].nunique()
    return "; ".join(f"{case}: {n}" for case, n in seeds.items())


def shares(ends: pd.DataFrame) -> str:
    shown = ends[["case", "em", "starts"]].rename(columns={"case": "data", "em": "E step"})
    names = {
        "expected": "expected split",
        "label_split": "label split",
        "likely": "and likelier than the choice",
        "empty": "one environment",
    }
    for name, title in names.items():
        shown[title] = ends[name].map("{:.1%}".format)
    return markdown(shown)


def by_em(ends: pd.DataFrame, name: str) -> str:
    """A share of all starts, by EM."""
    weighted = (ends[name] * ends["starts"]).groupby(ends["em"]).sum()
    share = weighted / ends.groupby("em")["starts"].sum()
    return ", ".join(f"{em} {share[em]:.1%}" for em in VARIANTS)


def results(chosen: pd.DataFrame) -> str:
    """Mean test results over the seeds."""
    names = {
        "one": "any start",
        "plain": "best of 10, not screened",
        "few": "best of 10",
        "all": f"best of {STARTS}",
        "alpha_0": "the same, alpha = 0",
        "oracle": "best on test",
    }
    means = chosen.groupby(["case", "em"], sort=False)[[*names]].mean()
    shown = means.map("{:.3f}".format).rename(columns=names)
    right = chosen.groupby(["case", "em"], sort=False)["right"].agg(["sum", "size"])
    shown["expected split chosen"] = [f"{r['sum']} of {r['size']}" for _, r in right.iterrows()]
    return markdown(shown.rename_axis(index=["data", "E step"]).reset_index())


def _right(chosen: pd.DataFrame, em: str, name: str) -> str:
    own = chosen.loc[chosen["em"] == em, name]
    return f"{em} {own.sum()} of {len(own)}"


def iterations(found: pd.DataFrame) -> str:
    """Medians and quartiles of EM's iterations."""
    cells = [f"{r.median:.0f} ({r.low:.0f} to {r.high:.0f})" for r in found.itertuples()]
    return wide(found, pd.Series(cells, index=found.index))


def wide(found: pd.DataFrame, cells: pd.Series) -> str:
    """A row per data and EM, a column per K."""
    shown = found.assign(cell=cells).pivot_table(
        index=["case", "em"], columns="clusters", values="cell", aggfunc="first", sort=False
    )
    shown.columns = [f"K = {k}" for k in shown.columns]
    return markdown(shown.rename_axis(index=["data", "E step"]).reset_index())


def lambdas(means: pd.DataFrame) -> str:
    shown = pd.DataFrame({"data": means["case"], "cosine": means["cosine"]})
    shown["lambda"] = means["lambda"].map("{:g}".format)
    shown["seeds"] = means["size"]
    shown["steps"] = means["steps"].map("{:.0f}".format)
    for name, title in (("cos", "cos reached"), ("outside", "outside of U")):
        shown[title] = means[name].map("{:.3f}".format)
    shown["worst learned"] = means["worst"].map("{:.3f}".format)
    shown["test (least to largest)"] = [
        f"{r.result:.3f} ({r.min:.3f} to {r.max:.3f})" for r in means.itertuples()
    ]
    shown["picked step"] = means["picked_step"].map("{:.0f}".format)
    for name, title in (("picked_worst", "its worst learned"), ("picked_result", "its test")):
        shown[title] = means[name].map("{:.3f}".format)
    shown["NTF's test"] = means["ntf_result"].map("{:.3f}".format)
    return markdown(shown)


def opposite(rows: pd.DataFrame) -> str:
    """How often the network ends against the direction, by cosine."""
    strong = rows[rows["lambda"] > 0]
    parts = strong.assign(against=strong["cos"] < 0).groupby("cosine", sort=False)["against"]
    return ", ".join(f"{name} {own.sum()} of {len(own)}" for name, own in parts)


def references(means: pd.DataFrame, published: pd.DataFrame) -> str:
    """EIIL's published accuracies, and its reference's at the same steps and at its best."""
    joined = means.merge(published, on=["r2", "steps"], how="left")
    joined = joined[joined["mean"].notna() | joined["best"]]
    shown = pd.DataFrame({"r2": joined["r2"].map("{:.2f}".format), "steps": joined["steps"]})
    shown["steps"] = shown["steps"].astype(str) + joined["best"].map({True: " (best)", False: ""})
    for name, title in (("train", "training"), ("validation", "validation"), ("test", "test")):
        shown[f"reference: {title}"] = joined[name].map("{:.3f}".format)
    shown["EIIL: test (95 % interval)"] = [
        f"{r.mean:.3f} ({r.ci_low:.3f} to {r.ci_high:.3f})" if r.mean == r.mean else ""
        for r in joined[["mean", "ci_low", "ci_high"]].itertuples(name="Row")
    ]
    return markdown(shown)


def near_steps(means: pd.DataFrame) -> str:
    """Between which steps the reference's validation accuracy is near its best."""
    near = means[means["near"]].groupby("r2")["steps"].agg(["min", "max"])
    return "; ".join(f"r2={r2:.2f}: {low} to {high}" for r2, low, high in near.itertuples())


def markdown(frame: pd.DataFrame) -> str:
    return str(frame.to_markdown(index=False, disable_numparse=True))
