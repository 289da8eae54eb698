"""Which rows of tables does no learner make?"""

from kerhrm.plugins import origin
from kerhrm_paper.data.registry import DATA_SETS, PAPER

#: constant predictions that each kind of table shows: title and value (None: mean
#: training label)
CONSTANTS: dict[str, tuple[str, float | None]] = {
    "accuracy": ("ref: majority", None),
    "shift": ("ref: majority", None),
    "mean_error": ("ref: predict zero", 0.0),
    "period": ("ref: predict the mean", None),
}
#: title of the mean label of each period, in tables of the kind ``period``
PERIOD_MEANS = "ref: each period's own mean"


def reference_titles() -> set[str]:
    """Titles of the constants, and of the closed forms that data sets declare."""
    titles = constant_titles()
    for generator in DATA_SETS.values():
        titles.update(generator.references)
    return titles


def constant_titles() -> set[str]:
    """Titles of the constants, which tables of any data show."""
    return {PERIOD_MEANS, *(title for title, _ in CONSTANTS.values())}


def titles_of_packages() -> dict[str, str]:
    """Titles of closed forms that data sets of other packages alone declare, each with
    the package as it stands in front of an error."""
    shipped = {title for generator in PAPER.values() for title in generator.references}
    titles = {}
    for name, generator in DATA_SETS.items():
        for title in generator.references:
            if title not in shipped:
                titles[title] = origin(DATA_SETS.group, name)
    return titles
