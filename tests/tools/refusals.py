"""What the package refuses."""

import pytest

from kerhrm.errors import KerhrmError


def refusal(words: str) -> pytest.RaisesExc[KerhrmError]:
    """The block must raise a KerhrmError with these words, a regular expression."""
    return pytest.raises(KerhrmError, match=words)
