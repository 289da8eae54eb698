"""Warnings of a fit as facts of its report, unless the report says as much."""

import contextlib
import warnings
from collections.abc import Iterator, Sequence

from kerhrm.errors import KerhrmWarning, PriceWarning, shown
from kerhrm.tables.distinct import INDEPENDENT

WARNING = "warning"  #: fact of one that is of no column


@contextlib.contextmanager
def recorded() -> Iterator[list[str]]:
    """Texts of the library's warnings inside the block, each once, at its end.

    Others are shown as without the block.
    """
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KerhrmWarning)
        yield texts
    for warning in caught:
        if not issubclass(warning.category, KerhrmWarning):
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
        # of what KerHRM costs the report has a fact
        elif not issubclass(warning.category, PriceWarning):
            texts.append(str(warning.message))
    texts[:] = dict.fromkeys(texts)


def with_warnings(
    facts: dict[str, str],
    of_fit: Sequence[str],
    of_test: Sequence[str],
    features: Sequence[str],
    auxiliary: Sequence[str],
) -> dict[str, str]:
    """Facts of a report, and what warnings say beyond them.

    Parameters
    ----------
    facts : dict of str to str
        Of the fit, the rows and the columns.
    of_fit : sequence of str
        Warnings of the fit.
    of_test : sequence of str
        Warnings of the encoder on test rows, each of a column.
    features : sequence of str
        Names of the columns that predict.
    auxiliary : sequence of str
        Names of the auxiliary columns.
    """
    facts = dict(facts)
    of_features = [facts.get(f"column {name!r}", "") for name in features]
    constant = all("it is constant" in remarks for remarks in of_features)
    rest = []
    for text in of_fit:
        if text.startswith(facts["predicts by"].removeprefix("ERM: ")):
            continue
        if constant and text.startswith("X is constant"):
            continue
        _, _, repeated = text.partition(INDEPENDENT)
        remark = _remark(text, "auxiliary column", auxiliary)
        if repeated and "repeated rows" in facts:
            facts["repeated rows"] += f"; they {INDEPENDENT}{repeated}"
        elif remark is not None:
            _add(facts, remark)
        else:
            rest.append(text)
    for text in of_test:
        remark = _remark(text, "column", features)
        if remark is None:
            rest.append(text)
            continue
        name, problem = remark
        seen, _, _ = problem.rpartition(": ")  # the cure is one of other tables
        _add(facts, (name, f"in the test rows {seen}"))
    for number, text in enumerate(rest, 1):
        facts[WARNING if len(rest) == 1 else f"{WARNING} {number}"] = text
    return facts


def _remark(text: str, kind: str, columns: Sequence[str]) -> tuple[str, str] | None:
    """The column that a warning begins with, and what it says of it; None: no one."""
    for name in columns:
        start = f"{kind} {shown(name)} "
        if text.startswith(start):
            return name, f"it {text.removeprefix(start)}"
    return None


def _add(facts: dict[str, str], remark: tuple[str, str]) -> None:
    """Add a remark to those on a column."""
    name, text = remark
    fact = f"column {name!r}"
    facts[fact] = f"{facts[fact]}; {text}" if fact in facts else text
