"""Files that the tests of ``read_table`` write."""

from pathlib import Path

import pandas as pd

from kerhrm.check import read_table

PLAIN = "a,b,y\n1,4,7\n2,5,8\n"
#: columns of PLAIN
EXPECTED = {"a": [1, 2], "b": [4, 5], "y": [7, 8]}


def written(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    """The path of a new file."""
    path = folder / name
    if isinstance(content, str):
        content = content.encode()
    path.write_bytes(content)
    return path


def read_text(folder: Path, text: str, **options: object) -> pd.DataFrame:
    """The table of a file with this text."""
    path = written(folder, text)
    return read_table(path, **options)
