"""What is known of a number, as a page of text: the number first, hashes last."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from kerhrm.reporting.explain.explanation import Explanation
from kerhrm.reporting.explain.lineage import Job
from kerhrm.reporting.explain.options import MEANINGS, Candidate
from kerhrm.reporting.layout import SAME
from kerhrm.reporting.tables import metric_name
from kerhrm.scoring.verdicts import CRITERIA

WIDTH, LABEL = 100, 15  #: of the page, and of the words at its left
DIGITS = 16  #: of a hash; all 64 are in the JSON
PER_LINE, LISTED = 5, 8  #: seeds in a line, and candidates that are listed


def as_text(found: Explanation) -> str:
    """The page, at most some 60 lines."""
    parts = [_number(found), _choice(found), _jobs(found), _files(found), _made(found)]
    lacking = list(_lacking(found))
    return "\n\n".join("\n".join(part) for part in (*map(list, parts), lacking) if part) + "\n"


def verdict_in_words(cell: Mapping[str, Any]) -> str:
    """How a cell compares with the paper's number, and by which test."""
    verdict, reason = cell["verdict"], cell["reason"]
    if verdict == "failed":
        return f"failed: {reason}"
    if not verdict:
        return "the paper prints no number"
    if verdict == "not comparable":
        return f"not compared: {reason}"
    margin = CRITERIA[cell["metric"]].margin(cell["paper"])
    tests = f"p = {cell['p_agrees']:.2g} if {margin:.3g} or more apart, "
    tests += f"{cell['p_differs']:.2g} if equal"
    if verdict == "agrees":
        return f"agrees: the means are closer than {margin:.3g} ({tests})"
    if verdict == "undecided":
        return f"undecided: neither equal within {margin:.3g} nor surely different ({tests})"
    side = {"good": ", which is better", "bad": ", which is worse"}.get(cell["direction"], "")
    return f"{verdict.replace('differs:', 'differs: ours is')}{side} ({tests})"


def _line(label: str, text: str) -> Iterator[str]:
    """Text beside a label, as many lines as it takes."""
    lines = textwrap.wrap(text, WIDTH - LABEL, break_long_words=False) or [""]
    yield f"{label:<{LABEL}}{lines[0]}".rstrip()
    yield from (" " * LABEL + line for line in lines[1:])


def _number(found: Explanation) -> Iterator[str]:
    cell = found.cell
    name = f"{cell['table']} | {cell['setting']} | {cell['method']}"
    yield f"{name} | {metric_name(cell['metric']).partition(' (')[0]}, by {cell['selection']}"
    interval = f"95 % interval {cell['ci_low']:.4f} to {cell['ci_high']:.4f}"
    spread = f", std {cell['std']:.4f}, {interval}" if cell["std"] > SAME else ""
    mean = "no result" if pd.isna(cell["mean"]) else f"mean {cell['mean']:.4f}{spread}"
    yield from _line("ours", f"{mean}, {cell['n_seeds']} seeds")
    paper = "none" if pd.isna(cell["paper"]) else f"{cell['paper']:g}"
    yield from _line("the paper's", paper)
    yield from _line("verdict", verdict_in_words(cell))
    texts = [f"{row['seed']}: {_value(row)}" for row in found.seeds]
    width = max(map(len, texts), default=0)
    if width > WIDTH // PER_LINE:
        texts = texts[: LISTED * 2]
    across = max(1, min(PER_LINE, (WIDTH - LABEL) // (width + 3)))
    for i in range(0, len(texts), across):
        line = "   ".join(f"{text:<{width}}" for text in texts[i : i + across])
        yield f"{'' if i else 'seeds':<{LABEL}}{line}".rstrip()
    if cell["data_source"] != "synthetic":
        yield from _line("data", cell["data_source"])


def _value(row: Mapping[str, Any]) -> str:
    return "failed" if pd.isna(row["value"]) else f"{row['value']:.4f}"


def _choice(found: Explanation) -> Iterator[str]:
    chosen = found.chosen
    rule = f"{chosen.rule}: {MEANINGS.get(chosen.rule, '')}".rstrip(": ")
    yield from _line("rule", rule)
    yield from _line("chosen", chosen.how)
    yield from _candidates(chosen.candidates)
    if chosen.options:
        yield from _line("options", _flat(chosen.options))
    yield from _by_seed(found.seeds)
    yield from _line("data options", _flat(found.data))


def _candidates(candidates: Sequence[Candidate]) -> Iterator[str]:
    ranked = sorted(candidates, key=lambda one: (-one.score, not one.chosen))
    for i, one in enumerate(ranked[:LISTED]):
        mark = "chosen" if one.chosen else ""
        text = f"{one.score:9.4f} ± {one.std:.4f}  {_flat(one.options):<50} {mark}".rstrip()
        yield f"{'' if i else 'on trial':<{LABEL}}{text.strip()}"


def _by_seed(seeds: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How often each value was chosen in a seed, and the scores of the iterations."""
    if not any("iteration" in row for row in seeds):
        return
    told = []
    for name in ("k", "alpha", "iteration", "lambda"):
        counts = pd.Series([row.get(name) for row in seeds]).dropna().value_counts().sort_index()
        if len(counts):
            told.append(f"{name} " + ", ".join(f"{v:g} ({n})" for v, n in counts.items()))
    yield from _line("in the seeds", "; ".join(told))
    scores = [row["iteration_scores"] for row in seeds if "iteration_scores" in row]
    if scores:
        means = " ".join(f"{sum(c) / len(c):.4f}" for c in zip(*scores, strict=True))
        yield from _line("iterations", f"mean score of t = 1, 2, ...: {means}")


def _flat(options: Mapping[str, Any]) -> str:
    """Options as ``name=value``, sections in brackets."""
    return " ".join(
        f"{k}({_flat(v)})" if isinstance(v, Mapping) else f"{k}={_short(v)}"
        for k, v in options.items()
    )


def _short(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ",".join(map(_short, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _jobs(found: Explanation) -> Iterator[str]:
    """One line for each rule, in the order of its first job."""
    rules: dict[str, list[Job]] = {}
    for job in found.jobs:
        rules.setdefault(job.rule, []).append(job)
    if rules:
        width = max(map(len, rules))
        yield f"{'made by':<{LABEL}}{'rule':<{width}}  jobs  seconds  began                of"
    for rule, jobs in rules.items():
        known = [job.seconds for job in jobs if job.seconds is not None]
        seconds = f"{sum(known):.1f}" if known else ""
        began = min(job.began for job in jobs)
        line = f"{rule:<{width}}  {len(jobs):>4}  {seconds:>7}  {began:<19}  {_places(jobs)}"
        yield f"{'':<{LABEL}}{line}".rstrip()


def _places(jobs: Sequence[Job]) -> str:
    places = list(dict.fromkeys(job.place for job in jobs))
    if len(places) == 1:
        return places[0]
    folder, _, last = places[-1].rpartition("/")
    return f"{places[0]} to {last if places[0].startswith(f'{folder}/') else places[-1]}"


def _files(found: Explanation) -> Iterator[str]:
    width = max(map(len, found.files), default=0)
    for i, (file, hashed) in enumerate(found.files.items()):
        told = f"sha256 {hashed.sha256[:DIGITS]}" if hashed else "gone since"
        yield f"{'' if i else 'files':<{LABEL}}{file:<{width}}  {told}"


def _made(found: Explanation) -> Iterator[str]:
    facts = found.made_with
    yield from _line("folder", found.folder)
    yield from _line("again", found.command)
    yield from _line("device", found.device)
    codes = {job.rule: " ".join(job.code) for job in found.jobs if job.code}
    if facts:
        here = ", of the checkout at hand" if found.is_run else ""
        yield from _line("commit", f"{facts['commit'] or 'none, as there is no git'}{here}")
        yield from _line(
            "code", f"sha256 {facts['code'][:DIGITS]}, from raw data to verdicts{here}"
        )
    if codes:
        last = [f"{rule} {code}" for rule, code in codes.items() if rule.startswith("train_")]
        yield from _line("fingerprint", ", ".join(last or [f"{r} {c}" for r, c in codes.items()]))
    for name, digest in facts.get("locks", {}).items():
        yield from _line("lock", f"{name} sha256 {digest[:DIGITS]}")


def _lacking(found: Explanation) -> Iterator[str]:
    if found.lacking:
        told = f"{', '.join(found.lacking)}: only in a run; {found.command} makes one"
        yield from _line("not here", told)
