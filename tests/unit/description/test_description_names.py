"""Columns' names as the lines of a description hold them."""

import pandas as pd

from kerhrm.description.text import short_names


def test_long_names_are_shortened_unless_they_would_be_alike() -> None:
    names = pd.Index(
        [
            "income_before_taxes_2019_total_eur",
            "income_before_tax_2020_net_total_eur",
            "a_name_of_thirty_four_characters_x",
            "short",
        ]
    )
    expected = [names[0], names[1], "a_name_of_...aracters_x", "short"]
    assert short_names(names) == expected
