"""Words that are numbers, with either decimal sign, a currency or %."""

import re
from collections.abc import Sequence

import numpy as np

#: larger whole numbers are identifiers
LARGEST = 2**63 - 1

_UNIT = r"(?:US\$|[$€£¥₹₩₽₺₫₪฿₴₦%‰]|USD|EUR|GBP|CHF|JPY|CNY|INR)"
_NUMBER = re.compile(
    rf"(?P<open>\()?(?P<sign>[+-]?) ?(?P<before>{_UNIT})? ?(?P<inner>[+-]?)"
    rf"(?P<digits>\d[\d., ']*|[.,]\d+)(?P<power>[eE][+-]?\d+)? ?"
    rf"(?P<after>{_UNIT})?(?P<close>\))?"
)
#: digits with a decimal sign: plain, in groups of three, or as in 12,34,567
_DIGITS = {
    sign: re.compile(
        rf"(\d+|[1-9]\d{{0,2}}([ '{other}])\d{{3}}(?:\2\d{{3}})*"
        rf"|[1-9]\d?(?:[{other}]\d\d)+[{other}]\d{{3}})?(?:[{sign}](\d*))?"
    )
    for sign, other in ((".", ","), (",", "."))
}
_LIKE_ASCII = str.maketrans(
    {
        "\N{MINUS SIGN}": "-",
        "\N{EN DASH}": "-",
        "\N{RIGHT SINGLE QUOTATION MARK}": "'",
        "\N{NO-BREAK SPACE}": " ",
        "\N{NARROW NO-BREAK SPACE}": " ",
        "\N{THIN SPACE}": " ",
    }
)


def decimal_signs(words: Sequence[str]) -> set[str]:
    """Decimal signs with which all words are numbers of the same unit.

    None, if they are no numbers; both, if the words do not tell.
    """
    signs = set()
    for sign in ".,":
        are_numbers = all(number(word, sign) is not None for word in words)
        if are_numbers:
            signs.add(sign)
    if not signs:
        return signs
    units = {unit(word) for word in words}
    return signs if len(units) == 1 else set()


def number(word: str, sign: str) -> int | float | None:
    """The number that a word shows with a decimal sign; None: it shows none."""
    cell = _NUMBER.fullmatch(word.translate(_LIKE_ASCII))
    if cell is None:
        return None
    opens = bool(cell["open"])
    closes = bool(cell["close"])
    two_signs = cell["sign"] and cell["inner"]
    if opens != closes or two_signs:
        return None
    written = cell["digits"].strip()
    digits = _DIGITS[sign].fullmatch(written)
    if digits is None:
        return None
    grouped = digits[2]
    power = cell["power"] or ""
    if power and grouped:  # no one writes 1,234E5 for thousands
        return None
    before_sign = digits[1] or ""
    whole = re.sub(r"\D", "", before_sign)
    part = digits[3]
    if not (whole or part):
        return None
    signs = cell["sign"] + cell["inner"]
    negative = opens or "-" in signs
    minus = "-" if negative else ""
    if part is not None or power:
        value = float(f"{minus}{whole}.{part or ''}{power}")
        return value if np.isfinite(value) else None
    too_long = len(whole) > len(str(LARGEST))
    if too_long or int(whole) > LARGEST:
        return None
    return int(minus + whole)


def unit(word: str) -> str:
    """Currency or % of a number; empty without one."""
    cell = _NUMBER.fullmatch(word.translate(_LIKE_ASCII))
    if cell is None:
        return ""
    before = cell["before"] or ""
    after = cell["after"] or ""
    return before + after
