"""Is every file of published scores there, and of a table that there is?"""

from pathlib import Path

from kerhrm_paper.config.fields import nearest
from kerhrm_paper.config.files import Sources
from kerhrm_paper.config.schema import Whole


def check_published(sources: Sources, whole: Whole) -> None:
    """Refuse published scores of a table that is not there, or no file of scores.

    Raises KerhrmError, in one line with the nearest name.
    """
    for table, file in whole.published.items():
        key = ("published", table)
        if table not in whole.tables:
            problem = f"no table is called '{table}'"
            raise sources.error(key, problem, nearest(table, whole.tables))
        hint = f"give the path of a run's scores/{table}.csv.gz"
        if not Path(file).is_file():
            raise sources.error(key, "there is no such file", hint)
        if not file.endswith(".csv.gz"):
            raise sources.error(key, "it is no file of scores", hint)
