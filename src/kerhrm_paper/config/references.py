"""Which rows of tables does no learner make?"""

from kerhrm_paper.data.registry import DATA_SETS

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
    titles = {PERIOD_MEANS}
    for title, _ in CONSTANTS.values():
        titles.add(title)
    for generator in DATA_SETS.values():
        titles.update(generator.references)
    return titles
