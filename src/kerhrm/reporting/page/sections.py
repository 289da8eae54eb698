"""What the page's sections hold, beside the grids: words, lists, pictures."""

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.claims.claim import effect
from kerhrm.claims.page import VERDICTS
from kerhrm.claims.page import page as claims_page
from kerhrm.claims.parts import NAN, Part
from kerhrm.config.ambiguities import changes, load_catalogue
from kerhrm.config.presets import DEVELOPMENT
from kerhrm.config.resolve import resolve
from kerhrm.config.schema import Experiment
from kerhrm.reporting import ambiguities_page
from kerhrm.reporting.ambiguities import COLUMNS, KINDS, results_shown
from kerhrm.reporting.layout import MISSING
from kerhrm.reporting.page.charts import Interval, intervals
from kerhrm.reporting.page.grids import Badge, badge
from kerhrm.reporting.page.markup import Place, Token, parse, split
from kerhrm.reporting.page.sources import Sources
from kerhrm.reporting.readme import in_all
from kerhrm.reporting.times import compute_times, of_run
from kerhrm.reporting.wording import KERHRM, TABLES, answer, counted, verdicts
from kerhrm.scoring.statistics import LEVEL

CLAIM_LOOKS = {
    "holds": Badge("holds", "✓", "agrees"),
    "fails": Badge("fails", "✕", "differs-bad"),
    "undecided": Badge("undecided", "?", "undecided"),
    "not testable": Badge("not testable", MISSING, "not-comparable"),
}
FLIP_LOOKS = {
    "changes": Badge("changes", "◆", "differs"),
    "negligible": Badge("negligible", "✓", "agrees"),
    "undecided": Badge("undecided", "?", "undecided"),
    "failed": Badge("failed", "✕", "failed"),
}


@functools.cache
def experiments(checkout: Path) -> Mapping[str, Experiment]:
    """All that a checkout can make at the paper's sizes; none without its configuration."""
    if not (checkout / "config" / "config.yaml").exists():
        return {}
    return resolve({"preset": DEVELOPMENT}, checkout / "config").experiments


@dataclass(frozen=True)
class Filtered:
    """Rows of a table that can be filtered by one outcome, in words and how many of each."""

    rows: list[dict[str, Any]]
    kinds: list[tuple[Badge, int]]


def tracks(sources: Sources) -> list[dict[str, Any]]:
    """Verdicts of each version of KerHRM, by table and in all."""
    results, found = sources.results, []
    for method, words in KERHRM.items():
        counts = {t: verdicts(results.row(t, method)) for t in TABLES if results.has(t, method)}
        every = sum(counts.values(), Counter[str]())
        found.append({
            "method": method, "name": words.partition(": ")[0], "what": words.partition(": ")[2],
            "cells": [_counted(counts[t]) if t in counts else None for t in TABLES],
            "ran": bool(counts), "answer": answer(every) if every else "",
        })  # fmt: skip
    return found


def _counted(counts: Mapping[str, int]) -> list[Badge]:
    """Outcomes in words with their numbers, as everywhere: ``5 differ (good)``."""
    return [badge(name, counted({name: n})) for name, n in counts.items()]


def without_tracks(tokens: list[Token]) -> list[Token]:
    """Words without the list of KerHRM's versions that begins them: a table has it."""
    for number, token in enumerate(tokens[:2]):
        if token["type"] == "list" and len(token["children"]) == len(KERHRM):
            return tokens[number + 1 :]
    return tokens


def claims(sources: Sources, place: Place) -> tuple[list[Token], Filtered] | None:
    """How the paper's statements were checked, and all of them; None if they were not."""
    found = sources.results.claims
    if found.empty:
        return None
    source = place.checkout / "docs" / "claims.md"
    told = parse(claims_page(found), place, source, top=3)
    told = [t for t in told if t["type"] not in ("heading", "table")]
    rows = []
    for row in found.to_dict("records"):
        measured = Part("", row["effect"], row["ci_low"], row["ci_high"], NAN, NAN)
        rows.append(row | {
            "badge": CLAIM_LOOKS[row["verdict"]],
            "literally": CLAIM_LOOKS.get(row["literal"]),
            "told": "" if pd.isna(row["effect"]) else effect(measured),
            "why": "; ".join(filter(None, (row["measure"], row["evidence"], row["reason"]))),
        })  # fmt: skip
    counts = found["verdict"].value_counts()
    kinds = [(CLAIM_LOOKS[name], int(counts[name])) for name in VERDICTS if name in counts]
    return told[1:], Filtered(rows, kinds)  # the first says which command makes docs/claims.md


@dataclass(frozen=True)
class Open:
    """What the paper leaves open: words, choices one by one, effects by kind of data."""

    told: list[Token]
    matters: list[Token]
    entries: dict[str, list[Token]]
    effects: list[tuple[str, Filtered]]


def ambiguities(sources: Sources, place: Place) -> Open | None:
    """The catalogue of open choices and, once they were measured, their effects."""
    catalogued = sources.kept("config/ambiguities.yaml")
    if catalogued is None:
        return None
    catalogue = load_catalogue(catalogued)
    path = sources.ambiguities
    found = pd.read_csv(path) if path else pd.DataFrame(columns=COLUMNS)
    told = changes(experiments(sources.checkout))
    text = ambiguities_page.page(catalogue, found, told)
    source = place.checkout / "docs" / "ambiguities.md"
    parts = split(parse(text, place, source, top=2), 3)
    words = [t for t in parts[""] if t["type"] != "heading"][1:]
    matters, choices = parts.get("What matters", []), parts.get("Choice by choice", [])
    return Open(words, matters, split(choices, 4), _effects(results_shown(found)))


def _effects(shown: pd.DataFrame) -> list[tuple[str, Filtered]]:
    found = []
    for kind, title in KINDS.items():
        here = shown[shown["experiment"] == kind]
        if here.empty:
            continue
        lines = intervals(here[["difference", "ci_low", "ci_high"]].to_numpy(dtype=float))
        rows = [
            row | {
                "badge": FLIP_LOOKS[row["outcome"]], "line": line, "sure": row["p_holm"] <= LEVEL,
            }
            for row, line in zip(here.to_dict("records"), lines, strict=True)
        ]  # fmt: skip
        counts = here["outcome"].value_counts()
        kinds = [(look, int(counts[name])) for name, look in FLIP_LOOKS.items() if name in counts]
        found.append((title[0].upper() + title[1:], Filtered(rows, kinds)))
    return found


@dataclass(frozen=True)
class Alarm:
    """How often the test found environments in data of a kind."""

    row: Mapping[str, Any]
    line: Interval | None


def heterogeneity(sources: Sources) -> list[Alarm]:
    """Draws in which environments were found; none where the study was not run."""
    path = sources.kept("results/study/heterogeneity.csv")
    if path is None:
        return []
    found = pd.read_csv(path).dropna(subset="rate")
    # on the scale of shares, whatever was found
    ends = np.array([[0.0, 0.0, 1.0]])
    numbers = found[["rate", "low", "high"]].to_numpy(dtype=float)
    lines = intervals(np.concatenate([numbers, ends]))[:-1]
    return [Alarm(r, line) for r, line in zip(found.to_dict("records"), lines, strict=True)]


def document(sources: Sources, place: Place, name: str, top: int = 4) -> list[Token]:
    """A document of the checkout; none if it is missing."""
    path = sources.kept(f"docs/{name}.md")
    return parse(path.read_text(encoding="utf-8"), place, path, top=top) if path else []


def lifted(tokens: list[Token]) -> tuple[Token | None, list[Token]]:
    """The first picture that has a paragraph of its own, and the document without it."""
    for number, token in enumerate(tokens):
        own = token.get("children", [])
        if token["type"] == "paragraph" and [child["type"] for child in own] == ["image"]:
            return own[0], tokens[:number] + tokens[number + 1 :]
    return None, tokens


def times(sources: Sources, place: Place) -> list[Token]:
    """Seconds of the run's jobs, by rule and experiment."""
    jobs = sources.results.jobs
    if not jobs:
        return []
    rows = [(k[0], k[1] if len(k) > 2 else "", k[1:], cost.s) for k, cost in jobs.items()]
    frame = pd.DataFrame(rows, columns=["rule", "experiment", "place", "seconds"])
    frame = of_run(frame, sources.experiments)
    names = sorted({name for name in frame["experiment"] if name in sources.experiments})
    text = f"{in_all(frame['seconds'])}\n"
    if names:
        text = f"{compute_times(frame, names)}\n{text}"
    return parse(text, place, sources.folder / "x", top=4, title="Seconds by rule and experiment")


def table_of(
    frame: pd.DataFrame, place: Place, caption: str, *, source: Path | None = None
) -> list[Token]:
    """A frame of texts as a table."""
    text = frame.to_markdown(index=False, disable_numparse=True)
    return parse(text, place, source or place.page, top=4, title=caption)


def listed(values: Sequence[tuple[str, Any]], columns: tuple[str, str]) -> pd.DataFrame:
    """Names and values as a frame of texts."""
    return pd.DataFrame([(name, str(value)) for name, value in values], columns=list(columns))
