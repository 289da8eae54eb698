"""What claims say is read from their files as their declaration reads it."""

from pathlib import Path

from kerhrm_paper.claims import check
from kerhrm_paper.claims.statements import statements


def test_the_statements_are_those_that_are_declared() -> None:
    declared = [
        f"Claim {claim.number} ({claim.where}): {claim.statement}."
        for claim in check.CLAIMS.values()
    ]
    assert sorted(statements()) == sorted(declared)


def test_an_edit_of_a_docstring_is_seen(tmp_path: Path) -> None:
    """The hash of the code does not see it."""
    docstring = '"""Claim 26 (5.1): ERM is\n    worst.\n\n    More.\n    """'
    text = f"@claim\ndef erm_is_worst(evidence):\n    {docstring}\n"
    (tmp_path / "made.py").write_text(text)
    assert statements(tmp_path) == ["Claim 26 (5.1): ERM is worst."]
    (tmp_path / "made.py").write_text(text.replace("26", "27"))
    assert statements(tmp_path) == ["Claim 27 (5.1): ERM is worst."]
