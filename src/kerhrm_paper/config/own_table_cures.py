"""What to do about a column of one's own table, by the keys that its page has."""

from collections.abc import Sequence
from typing import Any

from kerhrm.tables.cures import Cures
from kerhrm_paper.config.own_table_names import written

AS_NUMBERS = "write the days since a first day"


class Keys(Cures):
    """Keys of the target ``own_table``, which reads no dates."""

    def left_out(self, name: Any) -> str:
        return written("drop", [str(name)])

    def as_dates(self, name: Any, orders: Sequence[str] = ()) -> str:
        return f"{AS_NUMBERS}, or {self.left_out(name)}"

    def also_as_dates(self, name: Any, orders: Sequence[str] = ()) -> str:
        return AS_NUMBERS


KEYS = Keys()
