"""Words for what tables say, each by a criterion that ``results.md.j2`` names."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.reporting.layout import MISSING, SAME, SYMBOLS, outcome
from kerhrm.reporting.published import ABSENT, Cell, Published
from kerhrm.scoring.comparisons import CHAMPIONS, OUTCOMES
from kerhrm.scoring.verdicts import CRITERIA, JUDGED

TABLES = ("table1", "table2", "table3", "table4")
NETWORK = CHAMPIONS[0]
#: rows that answer for a track, with what each is
KERHRM = {
    "KerHRM (literal)": "literal: Algorithm 1 as printed",
    "KerHRM (released)": "released: the published code",
    NETWORK: "robust: with our restarts, screening and selection rule",
}
#: tracks of KerHRM that a reader may look for in every table
LOOKED_FOR = (*KERHRM, "KerHRM (NTF)", "KerHRM (per seed)", "KerHRM-s")
BASELINES = ("ERM", "DRO", "EIIL", "HRM", "IRM", "KerHRM-s")
#: fixed before the run on fresh seeds: bounds of the robust network's mean in every setting, and
#: of its standard deviation
GOALS = {"table1": (0.745, 0.03), "table2": (0.735, np.inf), "table3": (2.0, np.inf)}
PLURALS = {"agrees": "agree", "differs": "differ"}


def span(numbers: Iterable[float]) -> str:
    """Smallest and largest of some means."""
    found = [f"{n:.3f}" for n in sorted(filter(np.isfinite, map(float, numbers)))]
    if not found:
        return ABSENT
    return found[0] if found[0] == found[-1] else f"{found[0]} to {found[-1]}"


def spread(cells: Sequence[Cell]) -> str:
    """The largest standard deviation; of numbers that do not vary none."""
    # Unlike `max`, this keeps the nan of a cell that has failed.
    most = float(np.max([c.row["std"] for c in cells])) if cells else np.nan
    return span([most]) if most > SAME else ABSENT


def told(counts: Mapping[str, int], unit: str = "settings") -> str:
    """Outcomes of comparisons: ``better in 2 and undecided in 1 of 3 settings``."""
    found = [(name, counts[name]) for name in OUTCOMES if counts.get(name)]
    n = sum(number for _, number in found)
    if len(found) == 1:
        name = found[0][0]
        return name if n == 1 else f"{name} in all {n} {unit}"
    parts = [f"{name} in {number}" for name, number in found]
    return f"{', '.join(parts[:-1])} and {parts[-1]} of {n} {unit}" if parts else ABSENT


def verdicts(cells: Iterable[Cell]) -> Counter[str]:
    """Outcomes of the cells that are compared with the paper, in the order of the tables."""
    found = Counter(outcome(c.row["verdict"], c.row["direction"]) for c in cells if _judged(c))
    return Counter({name: found[name] for name in SYMBOLS if name in found})


def _judged(cell: Cell) -> bool:
    return str(cell.row.get("verdict")) in (*JUDGED, "failed")


def counted(counts: Mapping[str, int]) -> str:
    """Verdicts: ``2 agree, 5 differ (good)``."""
    parts = []
    for name, number in counts.items():
        first, _, rest = name.partition(" ")
        verb = PLURALS.get(first, first) if number > 1 else first
        parts.append(f"{number} {verb} {rest}".rstrip())
    return ", ".join(parts) or MISSING


def answer(counts: Mapping[str, int]) -> str:
    """Whether cells with these verdicts reproduce the paper's."""
    n = sum(counts.values())
    if not n:
        return "nothing to say"
    if counts.get("agrees") == n:
        return "yes"
    return "no" if any(name.startswith("differs") for name in counts) else "undecided"


def against(cells: Sequence[Cell], yardstick: float) -> str:
    """How the 95 % intervals of some means lie to a number."""
    ends = [(c.row["ci_low"], c.row["ci_high"]) for c in cells]
    found = {
        "above it": sum(low > yardstick for low, _ in ends),
        "with it inside": sum(low <= yardstick <= high for low, high in ends),
        "below it": sum(high < yardstick for _, high in ends),
    }
    parts = [f"{number} {name}" for name, number in found.items() if number]
    return f"{', '.join(parts)} (of {len(ends)})" if parts else ABSENT


def reproduction(results: Published) -> str:
    """Verdicts of results by row and table, and whether the row reproduces, as Markdown."""
    rows = []
    for method in (*KERHRM, *BASELINES):
        parts = {t: verdicts(results.row(t, method)) for t in TABLES if results.has(t, method)}
        total = sum(parts.values(), Counter())
        rows.append({
            "row": method,
            # A table without such a row says nothing of it.
            **{t: counted(parts.get(t, {})) if results.has(t) else ABSENT for t in TABLES},
            "reproduces": answer(total) if parts else ABSENT,
        })  # fmt: skip
    return _markdown(rows)


def track_answer(results: Published, method: str) -> str:
    """A track's answer with its counts over all tables."""
    counts = Counter[str]()
    for table in TABLES:
        counts += verdicts(results.row(table, method)) if results.has(table, method) else Counter()
    counts = Counter({name: counts[name] for name in SYMBOLS if counts[name]})
    found = any(results.has(table, method) for table in TABLES)
    return f"{answer(counts)}: {counted(counts)}" if counts else "" if found else ABSENT


def overview(results: Published, table: str, unit: str = "settings") -> str:
    """A line for every row of a table: its results, the paper's, and KerHRM's network beside it."""
    if not results.has(table):
        return f"{table} is {ABSENT}."
    rows = []
    for method in results.rows(table):
        cells = results.row(table, method)
        rows.append({
            "row": method, "means": span(cells), "largest deviation": _none(spread(cells)),
            "the paper's": _none(span(c.row["paper"] for c in cells)),
            "verdicts": counted(verdicts(cells)),
            f"{NETWORK} is": _none(told(results.outcomes(table, NETWORK, method), unit)),
        })  # fmt: skip
    missing = [m for m in LOOKED_FOR if m not in results.rows(table)]
    note = f"\n\nNot in this run: {', '.join(missing)}." if missing else ""
    return _markdown(rows) + note


def _none(text: str) -> str:
    return MISSING if text == ABSENT else text


def goals(results: Published) -> str:
    """What the robust network was to reach, and whether it has, as Markdown."""
    rows = []
    for table, (bound, deviation) in GOALS.items():
        cells = results.row(table, NETWORK) if results.has(table, NETWORK) else []
        merit = CRITERIA[results.metric(table)].merit if cells else None
        if not merit:
            continue
        # Unlike `min` and `max`, these keep the nan of a cell that has failed: missed.
        worst = np.min([merit(float(cell)) for cell in cells])
        small = np.max([cell.row["std"] for cell in cells]) <= deviation
        more = f", deviation at most {deviation:g}" if np.isfinite(deviation) else ""
        side = "at least" if merit(1.0) > 0 else "at most"
        rows.append({
            "table": table, "goal in every setting": f"{side} {bound:g}{more}",
            "means": span(cells), "largest deviation": spread(cells),
            "": "reached" if worst >= merit(bound) and small else "**missed**",
        })  # fmt: skip
    if results.has("figure3", NETWORK, "ERM"):
        ours, erm = (results.row("figure3", method) for method in (NETWORK, "ERM"))
        n = sum(a <= b.row["ci_high"] for a, b in zip(ours, erm, strict=True))
        rows.append({
            "table": "figure3", "goal in every setting": "at most the upper end of ERM's interval",
            "means": span(ours), "largest deviation": spread(ours),
            "": "reached" if n == len(ours) else f"**missed** ({n} of {len(ours)} periods)",
        })  # fmt: skip
    return _markdown(rows) if rows else f"The rows are {ABSENT}."


def leaders(results: Published, table: str) -> str:
    """By setting the baseline with the best mean, and KerHRM's network beside it, as Markdown."""
    rows = [
        {
            "setting": setting, "best baseline": method,
            "its result": str(results.cell(table, setting, method)),
            NETWORK: str(results.cell(table, setting, NETWORK)),
            f"{NETWORK} is": told(results.outcomes(table, NETWORK, method, [setting])),
        }
        for setting, method in results.best(table).items()
    ]  # fmt: skip
    return _markdown(rows) if rows else f"{table} is {ABSENT}."


def against_best(results: Published, table: str) -> str:
    """KerHRM's network against the best baseline of each setting, as a sentence's end."""
    best = results.best(table)
    parts = []
    for method in dict.fromkeys(best.values()):
        where = [setting for setting, name in best.items() if name == method]
        values = span(results.cell(table, setting, method) for setting in where)
        outcomes = told(results.outcomes(table, NETWORK, method, where))
        parts.append(f"{outcomes} against {method} ({values})")
    return ", ".join(parts) or ABSENT


def grid(results: Published, table: str, methods: Sequence[str]) -> str:
    """Cells of these methods in all settings of a table, settings as rows."""
    here = [m for m in methods if results.has(table, m)]
    rows = []
    for setting in dict.fromkeys(results.own(table)["setting"]) if here else ():
        cells = {m: str(results.cell(table, setting, m)) for m in here}
        if set(cells.values()) != {ABSENT}:
            rows.append({"setting": setting} | {m: _none(text) for m, text in cells.items()})
    return _markdown(rows) if rows else f"{table} is {ABSENT}."


def periods(results: Published, table: str, methods: Sequence[str]) -> str:
    """By variant of the house prices: errors over the periods, and the network against ERM."""
    rows = []
    for variant, settings in results.variants(table).items() if results.has(table) else ():
        row = {"variant": variant or "as in the paper"}
        row |= {m: _none(span(results.row(table, m, settings))) for m in methods}
        pairs = results.outcomes(table, NETWORK, "ERM", settings)
        rows.append(row | {f"{NETWORK} against ERM": _none(told(pairs, "periods"))})
    return _markdown(rows) if rows else f"{table} is {ABSENT}."


def claims(results: Published) -> str:
    """How many statements of the paper hold, fail or are undecided."""
    counts = results.claims["verdict"].value_counts() if len(results.claims) else {}
    words = ("holds", "fails", "undecided", "not testable")
    shown = {"holds": "hold", "fails": "fail", "undecided": "are undecided",
             "not testable": "cannot be tested"}  # fmt: skip
    parts = [f"{counts[w]} {shown[w]}" for w in words if w in counts]
    return f"of {len(results.claims)} statements {', '.join(parts)}" if parts else ABSENT


def _markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)
