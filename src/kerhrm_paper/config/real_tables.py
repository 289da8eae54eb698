"""What does ``real_tables.yaml`` say of the tables of that study?"""

from pathlib import Path

from pydantic import Field

from kerhrm.errors import KerhrmError
from kerhrm.options import Options, Some, option
from kerhrm_paper.config.strict_yaml import read_yaml, shown_path


class TableDescription(Options):
    """A table of a package: what is predicted, for which hidden group.

    Expressions are those of ``pandas.DataFrame.eval``.
    """

    file: str = Field(description="in the folder of the packages")
    target: str = Field(description="expression; two classes if it is true or false")
    group: str = Field(description="expression that is true in the minority")
    features: Some[str] = Field(description="columns that predict")
    where: str | None = option(None, "expression that is true in rows that are used")
    auxiliary: str | None = option(None, "expression, neither feature nor group")
    why: str = option("", "reason for the table and the group")


def load_descriptions(path: str | Path) -> dict[str, TableDescription]:
    """Read the file: descriptions by name of the table.

    Raises KerhrmError, in one line with file, key and value, if one does not fit.
    """
    file = Path(path)
    descriptions = {}
    for name, entry in read_yaml(file).items():
        place = f"{shown_path(file)}: {name}"
        if not isinstance(entry, dict):
            raise KerhrmError(f"{place}: it has no keys", "write 'key: value' lines")
        descriptions[name] = TableDescription.parse(entry, f"{place}.")
    return descriptions
