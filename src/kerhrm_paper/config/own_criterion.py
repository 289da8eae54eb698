"""Which of its rows does a table have first: that of the method's own criterion.

Nothing else decides what a method's own row is: whatever reads scores or cells takes
the first one, :func:`kerhrm_paper.evaluation.tables.primary`.
"""

from collections import defaultdict
from collections.abc import Sequence

from kerhrm_paper.config.criteria import ORACLE, WORDS
from kerhrm_paper.config.resolver import Resolver
from kerhrm_paper.config.views import Row

#: rows of other criteria, in the order in which one stands for the method's own
OTHERS = [words for words in WORDS.values() if words != ORACLE]
SameMethod = tuple[str, str, str]  #: data, setting and the learner's base


def own_first(resolver: Resolver, rows: Sequence[Row]) -> list[Row]:
    """Rows of a table, of which a method's own goes before those of other criteria.

    Neither the order of learners nor that of ``select`` decides which one that is.  A
    method without a row by its own criterion has another one in its place, the
    oracle's last.  All other rows keep their order.
    """
    places: dict[SameMethod, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        base, _ = resolver.schemas.parse_learner(row.learner)
        of_method = places[row.data, row.setting, base]
        of_method.append(place)
    in_order = list(rows)
    for (_, _, base), of_method in places.items():
        method = resolver.schemas.methods[base]
        criteria = [method.criterion, *OTHERS, ORACLE]
        own = min(of_method, key=lambda place: criteria.index(rows[place].selection))
        others = [place for place in of_method if place != own]
        for place, source in zip(of_method, [own, *others], strict=True):
            in_order[place] = rows[source]
    return in_order
