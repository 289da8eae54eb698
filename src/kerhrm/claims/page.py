"""``docs/claims.md``: every statement of the paper that was checked, and its verdict.

``python -m kerhrm.claims.page [CLAIMS.CSV]`` writes it into the checkout at hand, from what has
been published or from the file of another run.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.claims.claim import COLUMNS, effect
from kerhrm.claims.parts import NAN, Part
from kerhrm.storage.arrays import write_text

PAGE, PUBLISHED = Path("docs/claims.md"), Path("results/reference/claims/claims.csv")
VERDICTS = ("holds", "fails", "undecided", "not testable")
TEXTS = ("where", "statement", "verdict", "literal", "measure", "evidence", "reason", "data_source")
HEAD = """\
# What the paper says, checked

*`snakemake claims` checks, `snakemake publish_claims` publishes, and `python -m kerhrm.claims.page`
makes this page from `results/reference/claims/claims.csv`, which also has the p-values.*

{n} statements of the paper, in few words. {counts}.

- **holds**: the tested difference has the sign that the statement says, and is significant at 5 %
  after Holm's correction over the {tests} tests of this page. **fails**: it is significantly the
  other way; or an identity is violated beyond rounding, or there is a counterexample, which need no
  test. **undecided**: neither, or this run lacks a row that is needed.
- A statement with several parts ("in every setting", "in five of six") is one test: the partial
  conjunction of its parts (Benjamini and Heller 2008). If all have to hold, it is as sure as the
  least sure of them, and fails if any is surely the other way: surer than by itself, as of many
  parts some look so by chance. The effect shown is that of the part that decides; the evidence says
  how many parts hold, or their opposites, each at 5 % by itself.
- **Effects** are means over seeds with 95 % t intervals, turned so that the statement says they are
  positive; where it says that something is small, that is said of the effect. Methods are compared
  over the same seeds (paired t test), each with the options of its own selection rule.
- Words such as "heavily", "much" or "sharply" are read as numbers, which the evidence names; where
  there is nothing better, as the margins of [the verdicts](verdicts.md).
- KerHRM is the network, Algorithm 1's output, with our restarts, screening and selection rule; the
  column *literal* has the verdict of Algorithm 1 as printed, the evidence the effect of the NTF
  predictor.
- Statements about tables are checked on their seeds; others on small runs of the library with seeds
  from 100 on ({size}),
  or on distributions in which everything can be counted.
"""
SIZE = "1 000 training points, 1 024 hidden units, 8 seeds"


def page(found: pd.DataFrame) -> str:
    """The page of claims as :func:`kerhrm.claims.claim.check_all` gives them."""
    counts = found["verdict"].value_counts()
    told = ", ".join(f"{counts[v]} {v}" for v in VERDICTS if v in counts)
    head = HEAD.format(
        n=len(found), counts=_sentence(told), tests=int(found["p"].notna().sum()), size=SIZE
    )
    shown = pd.DataFrame([_cells(row) for row in found.to_dict("records")])
    return f"{head}\n{shown.to_markdown(index=False, disable_numparse=True)}\n"


def read_claims(path: Path) -> pd.DataFrame:
    """Read a file of claims; empty texts stay so."""
    found = pd.read_csv(path, dtype=dict.fromkeys(TEXTS, str))
    return found.assign(**{name: found[name].fillna("") for name in TEXTS})[COLUMNS]


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    evidence = "; ".join(filter(None, (row["measure"], row["evidence"], row["reason"])))
    verdict = f"**{row['verdict']}**" if row["verdict"] in ("holds", "fails") else row["verdict"]
    measured = Part("", row["effect"], row["ci_low"], row["ci_high"], NAN, NAN)
    cells = {
        "claim": str(row["claim"]), "where": row["where"], "statement": row["statement"],
        "verdict": verdict, "literal": row["literal"],
        "effect": "" if pd.isna(row["effect"]) else effect(measured), "evidence": evidence,
    }  # fmt: skip
    return {name: text.replace("|", "\\|") for name, text in cells.items()}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


if __name__ == "__main__":
    write_text(PAGE, page(read_claims(Path(*(sys.argv[1:2] or [str(PUBLISHED)])))))
