"""The command line, without Snakemake."""

import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from kerhrm.cli import cost, main
from kerhrm.costs.predict import PREDICTED


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What is started, instead of starting it; table9 is not known."""
    started: list[list[str]] = []

    def start(command: list[str], **_: Any) -> SimpleNamespace:
        started.append(command)
        bad = "table9" in command
        said = "MissingRuleException: table9" if bad else f"Building\n{PREDICTED}3 jobs"
        return SimpleNamespace(returncode=int(bad), stdout=said if "made" not in command else "-")

    monkeypatch.setattr(subprocess, "run", start)
    assert cost.subprocess is subprocess
    return started


def test_every_target_has_a_line(
    commands: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["cost", "table1", "made", "--cores", "4", "--anew", "--config", "preset=smoke"])
    assert capsys.readouterr().out == "table1: 3 jobs\nmade: nothing to be done\n"
    assert commands[0][1:] == [
        "-m", "snakemake", "--dry-run", "--nolock", "table1", "--cores", "4", "--forceall",
        "--config", "preset=smoke",
    ]  # fmt: skip


@pytest.mark.usefixtures("commands")
def test_an_unknown_target_is_told_in_one_line() -> None:
    with pytest.raises(SystemExit) as ended:
        main(["cost", "table9"])
    assert ended.value.code == (
        "error: no dry run of table9: MissingRuleException: table9; correct that"
    )
