"""What a table is called that several experiments share."""

from collections.abc import Mapping

from kerhrm.config.fresh import MORE


def title_of(titles: Mapping[str, str]) -> str:
    """Title of a table from those of its experiments, by their names, each once.

    Experiments that are further seeds of others, named ``*_more``, add none.
    """
    own = [title for name, title in titles.items() if not name.endswith(MORE)]
    return "; ".join(dict.fromkeys(own or titles.values()))
