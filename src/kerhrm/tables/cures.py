"""What to do about a column, in the words of who shows it.

The remarks on columns are those of ``kerhrm check``, which has options for it; another
one that shows them has cures of its own.
"""

from collections.abc import Sequence
from typing import Any

from kerhrm.tables.wording import flag


class Cures:
    """Options of ``kerhrm check``."""

    def left_out(self, name: Any) -> str:
        """Leave a column out."""
        return flag("--drop", name)

    def as_dates(self, name: Any, orders: Sequence[str] = ()) -> str:
        """Read a column as dates, of which several orders are possible."""
        option = flag("--dates", name)
        return f"{option} --date-order {' or '.join(orders)}" if orders else option

    def also_as_dates(self, name: Any, orders: Sequence[str] = ()) -> str:
        """The same behind another cure and an "and"."""
        return f"add {self.as_dates(name, orders)}"


OPTIONS = Cures()
