"""One title for a table, however many experiments it shows."""

from kerhrm.reporting.titles import title_of


def test_further_seeds_add_no_title() -> None:
    assert title_of({"one": "Houses", "one_more": "20 seeds"}) == "Houses"
    assert title_of({"one": "Houses", "two": "Flats", "three": "Houses"}) == "Houses; Flats"
    assert title_of({"one_more": "20 seeds"}) == "20 seeds"
