"""The variants of a setting in words, as titles of panels have them."""

#: what their picture has behind its table's name
SUFFIX = "-variants"
#: what a mark behind a setting's name means
WORDS = {
    "weights=shares": "weighted by size",
    "metric=whitened": "whitened gradients",
    "clip=train": "predictions in range",
    "price=log": "log price (own unit)",
    "H=I": "H = I",
}


def in_words(marks: str, plain: str = "main setting") -> str:
    """Marks in words, one that is not in :data:`WORDS` as it is; ``plain`` without any."""
    return ", ".join(WORDS.get(mark, mark) for mark in marks.split(",") if mark) or plain


def closest(marks: str, others: list[str]) -> str | None:
    """Of other variants the one with most of these marks and no further ones."""
    wanted = set(filter(None, marks.split(",")))
    found = [other for other in others if set(filter(None, other.split(","))) <= wanted]
    return max(found, key=lambda other: len(other.split(",")) if other else 0, default=None)
