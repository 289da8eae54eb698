"""What the paper prints in its tables, to stand beside what the workflow measures."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml
from pydantic import ConfigDict, FiniteFloat, TypeAdapter, ValidationError

from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import row_titled

Table = Literal["table1", "table2", "table3", "table4"]
Method = Literal[
    "ERM", "DRO", "EIIL", "HRM", "IRM", "KerHRM-s", "KerHRM", "ref: perfect invariant model"
]  # fmt: skip
Metric = Literal["train_acc", "test_acc", "generalisation_gap", "mean_error", "std_error"]

# The paper prints one KerHRM, whose output is Algorithm 1's network: the tracks' networks compare
# with that one, the NTF predictors with none. Every other method has the paper's name.
PRINTED_AS: Mapping[str, str] = dict.fromkeys(
    ("KerHRM (network)", "KerHRM (literal)", "KerHRM (released)"), "KerHRM"
)

#: runs that a printed number is the mean of
RUNS, RUNS_OF = 10, {"table4": 5}
#: of the row that the paper states and does not measure
STATED = "ref: perfect invariant model"

_FILE = TypeAdapter(
    dict[Table, dict[str, dict[Method, dict[Metric, FiniteFloat]]]],
    # Strict, because "0.85" in quotes or a bare r2 as key is a slip of the pen.
    config=ConfigDict(strict=True),
)


@dataclass(frozen=True)
class PaperValues:
    """The paper's numbers by (table, setting, method as printed, metric)."""

    cells: Mapping[tuple[str, str, str, str], float]

    def lookup(self, table: str, setting: str, method: str, metric: str) -> float | None:
        """The number to compare with, or None where the paper prints none.

        A setting is, for example, ``"r2=0.80,K=3"`` or ``"cmnist"``.
        """
        return self.cells.get((table, setting, PRINTED_AS.get(method, method), metric))

    @staticmethod
    def runs(table: str) -> int:
        """How many runs a printed number is the mean of."""
        return RUNS_OF.get(table, RUNS)

    @staticmethod
    def caveat(table: str, method: str, metric: str) -> str:
        """Why a printed number is none that ours can be compared with; empty if it can."""
        if method == STATED:
            return "the paper's number is theoretical"
        if row_titled(method).track == "released":
            if table == "table4":
                return "no script of this experiment was published"
            if metric == "std_error":
                return "the published script's deviation has ddof = 0"
        return ""


def load(path: str | Path) -> PaperValues:
    """Read and check ``config/paper_values.yaml``.

    Raises
    ------
    KerhrmError
        If the file is missing or is not YAML, or an entry is malformed; it gives the keys.
    """
    try:
        tables = _FILE.validate_python(yaml.safe_load(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise KerhrmError(
            f"cannot read {path}: {error.strerror or error}",
            "restore the file that comes with the repository",
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise KerhrmError(
            f"{path} is not YAML: {' '.join(str(error).split())}", "correct its syntax"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        keys = " > ".join(str(key) for key in first["loc"] if key != "[key]") or "top level"
        raise KerhrmError(
            f"{path}, {keys}: {first['msg']}",
            "entries are table > setting > method > metric: number",
        ) from error
    return PaperValues(
        {
            (table, setting, method, metric): value
            for table, settings in tables.items()
            for setting, methods in settings.items()
            for method, metrics in methods.items()
            for metric, value in metrics.items()
        }
    )
