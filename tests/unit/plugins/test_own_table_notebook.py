"""The notebook from a table to a conclusion, with a table of its own and with one that is given."""

from pathlib import Path

import nbformat
import numpy as np
import pandas as pd

from kerhrm.reporting.notebooks import execute, normalise

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "own_table.ipynb"


def shown(tmp_path: Path, **parameters: object) -> tuple[str, int]:
    """Texts of a run, and how many pictures it has."""
    execute(NOTEBOOK, tmp_path / "out.ipynb", {"network": [32], "max_rows": 300, **parameters})
    cells = nbformat.read(tmp_path / "out.ipynb", 4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    data = [output.get("data", {"text/plain": output.get("text", "")}) for output in outputs]
    texts = [str(d.get("text/markdown", d.get("text/plain"))) for d in data]
    return "\n".join(texts), sum("image/png" in d for d in data)


def test_it_is_stored_without_outputs() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    cells = nbformat.reads(text, 4).cells
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
    assert normalise(text) == text
    assert [cell.metadata.get("tags") for cell in cells[:2]] == [None, ["parameters"]]


def test_the_table_that_it_makes(tmp_path: Path) -> None:
    texts, pictures = shown(tmp_path)
    assert "300 rows train" in texts
    assert "nats per row" in texts
    assert pictures >= 1
    for word in ("west", "all rows", "KerHRM", "ERM", "**"):
        assert word in texts


def test_a_file_of_labels_without_groups(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    n = 300
    sign = random.choice([-1, 1], n)
    spurious = np.where(random.random(n) < 0.8, sign, -sign) + 0.1 * random.normal(size=n)
    table = pd.DataFrame({"shape": sign + random.normal(size=n), "shade": spurious})
    table["answer"], table["note"] = np.where(sign > 0, "yes", "no"), "kept out"
    table.loc[::40, "shape"] = np.nan
    table.to_csv(tmp_path / "mine.csv", index=False)
    texts, pictures = shown(
        tmp_path, path=str(tmp_path / "mine.csv"), target="answer", task="classification",
        categorical=[], drop=["note"], group=None,
    )  # fmt: skip
    assert "cannot be tested: binary labels" in texts
    assert pictures == 3
