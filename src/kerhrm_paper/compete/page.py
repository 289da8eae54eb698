"""The page that ranks a method among the published ones."""

import base64
from collections.abc import Mapping
from html import escape
from typing import Any

import pandas as pd

from kerhrm_paper.compete.ranks import FEWEST
from kerhrm_paper.compete.results import WORDS, Results, answers
from kerhrm_paper.reporting.page import framed, page
from kerhrm_paper.runs.limited import limit_in_words

TOO_FEW = "too few seeds"  #: outcome of a comparison
LEAST_P = 1e-4  #: that has digits
#: what the seconds in a table are
SECONDS = (
    "Seconds a fit include a share of the start of Python, which takes several seconds "
    "and rules those of small fits."
)


def ranking_page(results: Results) -> str:
    """The page as HTML."""
    title = f"{results.titles[0]} among the published methods"
    parts = [f"<h1>{escape(title)}</h1>"]
    if results.caution:
        parts.append(f"<p><strong>{escape(results.caution)}</strong></p>")
    parts.append(_answers(results))
    parts += [f"<p>{escape(notice)}</p>" for notice in results.notices]
    by_table = results.ranks.groupby("table", sort=False)
    for name, of_table in by_table:
        section = _section(str(name), of_table, results)
        parts.append(section)
    parts.append(_others(results))
    if len(results.comparisons):
        parts.append("<h2>Compared with KerHRM</h2>")
        parts.append(
            "<p>Difference of the means over settings, KerHRM minus the method, paired "
            "over seeds, with its 95 % interval. The outcome is KerHRM's: better or "
            "worse at 5 % after Holm's correction over the table, open where neither "
            "holds, failed where a fit of either has no result, stand-ins where the "
            f"data take the place of real ones, {TOO_FEW} where these are less than "
            f"{FEWEST}: then there is no finding.</p>"
        )
        parts.append(_table(_compared(results.comparisons)))
    parts.append(_candidates(results))
    parts.append(_how(results))
    written = filter(None, parts)
    body = framed("\n".join(written))
    return page(title, body)


def _section(name: str, ranked: pd.DataFrame, results: Results) -> str:
    """Ranks of a table."""
    first = ranked.iloc[0]
    metric = first["metric"]
    worst = first["worst_metric"]
    rows = []
    for row in ranked.to_dict("records"):
        interval = _interval(row, "mean", "ci_low", "ci_high")
        cells = {
            "rank": _rank(row["rank"]),
            "method": row["method"],
            WORDS[metric]: interval,
        }
        if worst:
            interval = _interval(row, "worst", "worst_low", "worst_high")
            cells["rank by the worst"] = _rank(row["worst_rank"])
            cells[WORDS[worst]] = interval
        seconds = _seconds(row["seconds"])
        cells["seconds a fit"] = f"> {seconds}" if row["timed_out"] else seconds
        cells["remark"] = row["reason"]
        if row["method"] in results.titles:
            cells["method"] = f"\N{BLACK RIGHT-POINTING TRIANGLE} {row['method']}"
        rows.append(cells)
    title = escape(results.tables[name])
    heading = f'<h2 id="{escape(name)}">{title} ({escape(name)})</h2>'
    table = _table(rows)
    for reason in filter(None, ranked["reason"]):
        text = escape(reason, quote=False)
        wide = f'<td style="white-space: normal; min-width: 24em">{text}</td>'
        table = table.replace(f"<td>{text}</td>", wide)
    about = f"<p>{_about(ranked)} {_missing(name, results)} {_links(name)}</p>"
    parts = [heading, about, table]
    if name in results.figures:
        picture = results.figures[name].read_bytes()
        image = base64.b64encode(picture).decode()
        text = f"every seed of each method: {title}"
        parts.append(f'<img alt="{text}" src="data:image/png;base64,{image}">')
    return "\n".join(parts)


def _about(ranked: pd.DataFrame) -> str:
    """What the numbers of a table are."""
    n = ranked["n_settings"].iloc[0]
    n_settings = f"{n} setting{'s' if n > 1 else ''}"
    numbers = sorted(set(ranked["n_seeds"].dropna()))
    n_seeds = " or ".join(map(str, numbers))
    seeds = f"{n_seeds} seed{'' if numbers == [1] else 's'}"
    interval = f"95 % interval from {FEWEST} seeds on"
    if numbers and numbers[0] >= FEWEST:
        interval = "95 % interval"
    if numbers and numbers[-1] < FEWEST:
        interval = "no interval, as these are too few"
    about = f"Mean over {n_settings} and {seeds}, {interval}; rank 1 is the best."
    return f"{about} {SECONDS}"


def _missing(name: str, results: Results) -> str:
    """Which methods of the published table this run leaves out; empty if none."""
    methods = results.missing.get(name)
    if not methods:
        return ""
    text = f"This preset leaves out {', '.join(methods)}; --preset fresh has all."
    return escape(text)


def _others(results: Results) -> str:
    """Links to the tables without ranks."""
    ranked = set(results.ranks["table"])
    names = [name for name in results.tables if name not in ranked]
    if not names:
        return ""
    items = []
    for name in names:
        key = escape(name)
        title = f"{escape(results.tables[name])} ({key})"
        why = escape(results.unranked.get(name, ""))
        item = f'<li id="{key}">{title}: {why}; {_links(name)}</li>'
        items.append(item)
    listed = "".join(items)
    return f"<h2>Tables without ranks</h2>\n<ul>{listed}</ul>"


def _compared(comparisons: pd.DataFrame) -> pd.DataFrame:
    """Comparisons as the page shows them: no finding of too few seeds, and no p-value
    of 0."""
    shown = comparisons.copy()
    for name in ("difference", "ci_low", "ci_high"):
        shown[name] = [_four(value) for value in comparisons[name]]
    shown["p_holm"] = [
        f"< {LEAST_P:g}" if p < LEAST_P else _four(p) for p in comparisons["p_holm"]
    ]
    is_few = shown["n_seeds"] < FEWEST
    shown.loc[is_few, ["ci_low", "ci_high", "p_holm"]] = ""
    is_finding = ~shown["outcome"].isin(["failed", "stand-ins"])
    shown.loc[is_few & is_finding, "outcome"] = TOO_FEW
    return shown


def _four(value: float) -> str:
    """Four digits after the point; nothing of NaN."""
    return "" if pd.isna(value) else f"{value:z.4f}"


def _candidates(results: Results) -> str:
    """What the search tried and chose."""
    if results.candidates.empty:
        return ""
    failed = [f"<p>{escape(text)}</p>\n" for text in results.failed_candidates]
    return (
        "<h2>Candidates</h2>\n<p>Scores on the tuning seeds by each criterion, the "
        "larger the better; the method's own is the first one. The oracle sees test "
        f"points and gives a bound.</p>\n{''.join(failed)}{_table(results.candidates)}"
    )


def _how(results: Results) -> str:
    """How the numbers came about."""
    return (
        "<h2>How this was made</h2>\n"
        "<p>All methods have the same data, seeds and initial networks. Each is tuned "
        "by its own criterion among at most eight candidates, on seeds that no table "
        f"has. A fit of {escape(results.titles[0])} has at most "
        f"{limit_in_words(results.minutes)}. Seconds a fit are those of a method's "
        "jobs over the number of their fits, without the features that several methods "
        "share; &gt; is before the limit, where a fit took longer. "
        "<code>ranks.csv</code> has all numbers.</p>"
    )


def _links(name: str) -> str:
    files = {
        "table": f"tables/{name}.html",
        "figure": f"figures/{name}.png",
        "comparisons": f"tables/{name}-comparisons.csv",
    }
    links = []
    for text, file in files.items():
        links.append(f'<a href="{escape(file)}">{text}</a>')
    return ", ".join(links)


def _table(rows: Any) -> str:
    frame = pd.DataFrame(rows)
    return str(frame.to_html(index=False, border=0, na_rep=""))


def _answers(results: Results) -> str:
    """The answer for each table, with a link to it."""
    items = []
    for line in answers(results):
        name, _, text = line.partition(": ")
        key = escape(name)
        items.append(f'<li><a href="#{key}">{key}</a>: {escape(text)}</li>')
    listed = "".join(items)
    return f"<ul>{listed}</ul>"


def _rank(value: Any) -> str:
    if pd.isna(value):
        return ""
    return str(int(value))


def _seconds(value: float) -> str:
    if pd.isna(value):
        return ""
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def _interval(row: Mapping[str, Any], mean: str, low: str, high: str) -> str:
    """A mean with its interval, if it has one."""
    if pd.isna(row[mean]):
        return "failed"
    if pd.isna(row[low]):
        return f"{row[mean]:.3f}"
    return f"{row[mean]:.3f} [{row[low]:.3f}, {row[high]:.3f}]"
