"""Words of a column of text that may be one, and rows that may sum up others."""

from collections.abc import Sequence

import pandas as pd

from kerhrm.tables.cells import NO_NUMBER, Words
from kerhrm.tables.wording import counted, listed

#: what a row is called that sums up others, in lower case
TOTALS = frozenset(
    {"total", "totals", "grand total", "subtotal", "sub-total", "sum", "overall"}
    | {"summe", "gesamt", "insgesamt", "totale", "totaal", "suma"}
    | {"итого", "всего", "合计", "总计", "合計", "総計", "합계"}
)
DELETE = "delete such rows if they sum up others"
#: what to do about single cells
CORRECT = "leave such cells empty, or correct them"


def correction(words: Sequence[str]) -> str:
    """Say what to do about words among numbers or dates."""
    return f"{DELETE}, else {CORRECT}" if total_words(words) else CORRECT


def doubtful_words(column: pd.Series) -> str | None:
    """Say which words of a column differ in case alone, or name totals."""
    words = Words.from_column(column)
    known = words.known(NO_NUMBER)
    texts = [case_variants(known)]
    totals = total_words(known)
    if totals:
        rows = counted(words.rows(totals))
        texts.append(f"{listed(totals)} in {rows}: {DELETE}")
    return "; ".join(filter(None, texts)) or None


def case_variants(words: Sequence[str]) -> str:
    """Say which words differ in case alone; empty: none do."""
    spelled: dict[str, list[str]] = {}
    for word in dict.fromkeys(words):
        spelled.setdefault(word.casefold(), []).append(word)
    several = [same for same in spelled.values() if len(same) > 1]
    if not several:
        return ""
    text = f"{listed(several[0])} differ in case alone"
    n_more = len(several) - 1
    if n_more:
        text += f", as do spellings of {counted(n_more, 'other word')}"
    return f"{text}: write them alike if they are one"


def total_words(words: Sequence[str]) -> list[str]:
    """Words that name a total."""
    totals = [word for word in words if word.rstrip(" .:").casefold() in TOTALS]
    return list(dict.fromkeys(totals))
