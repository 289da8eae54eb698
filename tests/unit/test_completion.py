"""``kerhrm --print-completion`` prints what completes commands, options and files."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kerhrm import parsers
from kerhrm.cli import main
from kerhrm.extras import MissingPackageError

COMPLETE = """
source ./completion
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_shtab_kerhrm
echo "${{COMPREPLY[@]}}"
"""


def printed(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The script for a shell."""
    pytest.importorskip("shtab")
    with pytest.raises(SystemExit) as ended:
        main(["--print-completion", shell])
    assert not ended.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("kerhrm ch", "check"),
        ("kerhrm check --ta", "--target --task"),
        ("kerhrm check pri", "prices.csv"),
        ("kerhrm check prices.csv --html pag", "page.html"),
        ("kerhrm verify pri", "prices.csv"),
    ],
)
def test_bash_completes(
    words: str, completed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    (tmp_path / "completion").write_text(printed("bash", capsys))
    for name in ("prices.csv", "page.html"):
        (tmp_path / name).touch()
    done = subprocess.run(
        [bash, "-c", COMPLETE.format(words=words)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == completed.split()


def test_a_shell_that_is_missing_has_its_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["--print-completion"])
    told = "expected one argument; write --print-completion bash or zsh\n"
    assert capsys.readouterr().err.endswith(told)


def test_zsh_has_a_script_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed("zsh", capsys).startswith("#compdef kerhrm")


def test_without_shtab_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def needs(extra: str, *packages: str) -> None:
        problem = f"{packages[0]} is not installed"
        raise MissingPackageError(problem, f"pip install 'kerhrm[{extra}]'")

    monkeypatch.setattr(parsers, "needs", needs)
    assert main(["--print-completion", "bash"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("kerhrm: error: shtab is not installed")
    assert "pip install 'kerhrm[completion]'" in error
