"""``kerhrm check`` prints and writes the same bytes, whatever the process around it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

N = 240
#: settings that must not matter, of two processes; the second terminal knows ASCII
#: alone, and is narrow
ROOMY = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "200"}
NARROW = {
    "PYTHONHASHSEED": "1",
    "LC_ALL": "C",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONUTF8": "0",
    "TZ": "Asia/Tokyo",
    "COLUMNS": "40",
}
KERHRM = "import sys; from kerhrm.cli import main; sys.exit(main())"


@pytest.fixture(scope="module")
def content() -> bytes:
    """A table with columns of all kinds, some of them odd in several ways."""
    random = np.random.default_rng(0)
    row = np.arange(N)
    x = random.normal(size=(N, 2)).round(3)
    turn = np.where(row < N / 4, -2, 2)
    y = (x[:, 0] + turn * x[:, 1] + 0.3 * random.normal(size=N)).round(3)
    days = pd.date_range("2020-01-01", periods=N)
    table = pd.DataFrame(
        {
            "a": x[:, 0],
            "b": x[:, 1],
            "größe": random.choice(["süd", "nord", "ost", "west", ""], N),
            "farbe": random.choice([*"stuvwxyz"], N),
            "tag": days.astype(str),
            "wann": days.strftime("%Y%m%d"),
            "nr": row,
            "stets": 1,
            "mehr": 2 * y + 1,
            "code": np.where(row % 9 == 0, -999, random.integers(1, 60, N)),
            "y": y,
        }
    )
    table["klasse"] = np.where(table["y"] > 0, "früh", "spät")
    return table.to_csv(index=False).encode()


#: files that are written, and options
CASES = {
    "numbers": (
        {"page.html", "rows.csv"},
        "--target y --group größe --drop klasse mehr --html page.html "
        "--memberships rows.csv",
    ),
    "labels": (
        {"page.html"},
        "--target klasse --drop y mehr --auxiliary tag a --dates tag --html page.html",
    ),
}


def checked(
    folder: Path, content: bytes, options: str, settings: dict[str, str]
) -> dict[str, bytes]:
    """What a process writes, by file; what it prints is ``printed``."""
    temporary = folder / "temporary"
    temporary.mkdir(parents=True)
    (folder / "t.csv").write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-c", KERHRM, "check", "--quiet", "t.csv", *options.split()],
        cwd=folder,
        env=os.environ | settings | {"TMPDIR": str(temporary)},
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    assert not [*temporary.iterdir()]
    files = [path for path in folder.iterdir() if path.is_file()]
    written = {path.name: path.read_bytes() for path in files}
    del written["t.csv"]
    return written | {"printed": done.stdout}


@pytest.mark.parametrize("case", CASES)
def test_another_process_prints_and_writes_the_same_bytes(
    case: str, content: bytes, tmp_path: Path
) -> None:
    """With another hash seed, folder, temporary folder, time zone and terminal; letters
    that this one does not know are written out."""
    files, options = CASES[case]
    expected = checked(tmp_path / "a", content, options, ROOMY)
    other = checked(tmp_path / "other name", content, options, NARROW)
    printed = expected.pop("printed").decode("utf-8")
    assert not printed.isascii()
    assert expected.keys() == files
    assert other.pop("printed") == printed.encode("ascii", "backslashreplace")
    assert other == expected
