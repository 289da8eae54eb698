"""Which scores and which printed numbers does an endpoint, or a band, compare?"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import pandas as pd

from kerhrm_paper.config.endpoints import Endpoints, EndpointTable
from kerhrm_paper.evaluation.crossed import of_independent_seeds
from kerhrm_paper.evaluation.tables import PaperValues, base_setting, primary, where


def part_of(apart: Iterable[str]) -> Callable[[str], str]:
    """Part of a table that a setting belongs to: an option that stands apart, or ""."""
    known = set(apart)

    def part(setting: str) -> str:
        options = setting.split(",")
        kept = [option for option in options if option in known]
        return ",".join(kept)

    return part


def chosen_rows(
    scores: pd.DataFrame,
    method: str,
    declared: EndpointTable,
    spec: Endpoints,
) -> pd.DataFrame:
    """Rows of a method by its own criterion, of a baseline by that of all baselines.

    Of crossed seeds there is one for each data set.
    """
    if method in spec.baselines:
        rows = where(scores, selection=spec.baselines_by)
    else:
        rows = scores[primary(scores)]
    of_method = where(rows, method=method, metric=declared.metric)
    return of_independent_seeds(of_method)


def printed_numbers(
    paper: PaperValues, table: str, metric: str
) -> dict[str, dict[str, float]]:
    """The paper's numbers of a metric in a table, by method as printed and setting."""
    numbers: dict[str, dict[str, float]] = {}
    for key, number in paper.items():
        of_table, setting, method, of_metric = key
        if of_table == table and of_metric == metric:
            of_method = numbers.setdefault(method, {})
            of_method[setting] = number
    return numbers


def missing_values(wide: pd.DataFrame, printed: Mapping[str, float]) -> Iterator[str]:
    """What is missing of the values (seeds x settings) that the printed numbers ask
    for."""
    measured = {base_setting(setting) for setting in wide}
    for setting in printed:
        if setting not in measured:
            yield f"{setting} (all seeds)"
    for setting, is_missing in wide.isna().items():
        if is_missing.all():
            yield f"{setting} (all seeds)"
        elif is_missing.any():
            missing = is_missing.index[is_missing]
            seeds = ", ".join(map(str, missing))
            yield f"{setting} (seeds {seeds})"
