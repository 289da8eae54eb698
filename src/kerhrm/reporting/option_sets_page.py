"""docs/option_sets.md: what `tune` had on trial, what each rule chose, and what lies at an edge.

``python -m kerhrm.reporting.option_sets_page`` writes it from ``config/tuned``.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from kerhrm.methods.registry import METHODS
from kerhrm.reporting.layout import MISSING
from kerhrm.scoring.tuning import best, edges

HEAD = """# Equal budgets

Written by `python -m kerhrm.reporting.option_sets_page` from `config/tuned`; do not edit.

Every method, KerHRM too, is tuned by the same number of option sets on the same seeds, which no
table uses, and gets one choice per experiment. `snakemake tune` trains them all and scores them by
every selection rule that the method can have without test data:

- **pooled validation**: accuracy, or minus the squared error, on the pooled validation sample;
- **worst validation environment**: of methods that are given the true environments;
- **worst learned environment**: of methods that infer environments (KerHRM, EIIL, HRM), on the
  validation points of all environments that were inferred with any of the option sets.

KerHRM's option set serves two predictors, the network and the NTF predictor; its score, by any
rule, is the mean of both. Of the NTF predictor, a closed form, the learned environments' training
points count, too, as inside the algorithm; a network has fitted them.


The method's own rule makes its row of the tables (in bold below), the others have rows of their
own. In the settings that `tune` looks at the tables train every option set again, and an
**oracle**, which knows the test data, chooses one of them: no rule that makes one choice can do
better. `KerHRM (per seed)` chooses k, alpha and lambda anew for every seed, by the worst learned
environment, among more values.
"""
#: a value at an end of the numbers on trial
EDGE = "†"


def page(tuned: Path) -> str:
    """Markdown of all searches in a folder; the scores of each are in ``<experiment>.csv``."""
    parts = [HEAD]
    for path in sorted(tuned.glob("*.csv")):
        parts += [f"## {path.stem}\n", *_search(pd.read_csv(path))]
    return "\n".join(parts)


def _search(scores: pd.DataFrame) -> Iterator[str]:
    """What one search tried and chose."""
    first = scores.drop_duplicates(["method", "candidate"])
    settings = ", ".join(f"`{name}`" for name in dict.fromkeys(scores["setting"]))
    counts = sorted(set(first.groupby("method").size()))
    yield (
        f"{' or '.join(map(str, counts))} option sets a method, {scores['n_seeds'].max()} seeds, "
        f"settings {settings}.\n"
    )
    chosen = best(scores)
    at_edge = set(edges(scores, chosen))
    rules = sorted({rule for by_rule in chosen.values() for rule in by_rule})
    rows = []
    for method, by_rule in chosen.items():
        own = scores["method"] == method
        tried = pd.DataFrame(map(json.loads, scores.loc[own, "options"].unique()))
        varied = [name for name in tried if tried[name].nunique() > 1]
        for name in varied:
            row = {"method": METHODS[method].rows[0].title, "option": name}
            row["on trial"] = ", ".join(map(_told, sorted(set(tried[name]))))
            for rule in rules:
                row[rule] = MISSING
                if rule in by_rule:
                    value = by_rule[rule][name]
                    end = f"{method}.{name} = {_told(value)} ({rule})" in at_edge
                    text = _told(value) + EDGE * end
                    row[rule] = f"**{text}**" if rule == METHODS[method].rule else text
            rows.append(row)
    yield pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)
    yield f"\n{EDGE}: a number at an end of those on trial.\n"


def _told(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


if __name__ == "__main__":
    target = Path("docs/option_sets.md")
    target.write_text(page(Path("config/tuned")), encoding="utf-8")
