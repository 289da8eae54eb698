"""Columns as they come.

Text, categories, dates, booleans and missing values as numbers.
"""

from typing import Any

import pandas as pd
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

#: categories of a column, the rarest of which are one
MAX_CATEGORIES = 20


def table_encoder() -> ColumnTransformer:
    """Encoder of DataFrames, for ``make_pipeline(table_encoder(), KerHRMRegressor())``.

    Numbers and booleans stay, dates become days since 1970; missing ones are their
    column's median, next to a column that says so.  Everything else is text: a column
    of 0 and 1 for each of the 20 most frequent values, where a missing value is one.
    Columns keep their names.

    Returns
    -------
    ColumnTransformer
        Not fitted.

    Examples
    --------
    >>> import pandas as pd
    >>> from kerhrm import table_encoder
    >>> table = pd.DataFrame({"pay": [3.0, None, 5.0], "field": ["law", None, "care"]})
    >>> encoded = table_encoder().fit_transform(table)
    >>> encoded.columns.tolist()
    ['pay', 'missingindicator_pay', 'field_care', 'field_law', 'field_missing']
    """
    numbers: Any = ["number", "bool", "boolean"]
    dates: Any = ["datetime", "datetimetz"]
    as_floats, as_days, as_text = (
        FunctionTransformer(f, feature_names_out="one-to-one")
        for f in (_floats, _days, _text)
    )
    fill = SimpleImputer(
        strategy="median", add_indicator=True, keep_empty_features=True
    )
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=MAX_CATEGORIES,
        sparse_output=False,
    )
    parts = [
        (
            "numbers",
            make_pipeline(as_floats, fill),
            make_column_selector(dtype_include=numbers),
        ),
        (
            "dates",
            make_pipeline(as_days, fill),
            make_column_selector(dtype_include=dates),
        ),
        (
            "text",
            make_pipeline(as_text, one_hot),
            make_column_selector(dtype_exclude=numbers + dates),
        ),
    ]
    encoder = ColumnTransformer(parts, verbose_feature_names_out=False)
    return encoder.set_output(transform="pandas")


def _floats(table: pd.DataFrame) -> pd.DataFrame:
    return table.astype(float)


def _days(table: pd.DataFrame) -> pd.DataFrame:
    return table.apply(lambda dates: pd.to_datetime(dates, utc=True).sub(EPOCH) / DAY)


def _text(table: pd.DataFrame) -> pd.DataFrame:
    return table.astype("string").fillna("missing").astype(object)


EPOCH, DAY = pd.Timestamp(0, tz="UTC"), pd.Timedelta(days=1)
