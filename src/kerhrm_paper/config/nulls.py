"""Does every null of a file leave out something that is there?"""

from collections.abc import Iterator

from kerhrm_paper.config.causes import leaves
from kerhrm_paper.config.fields import nearest
from kerhrm_paper.config.files import Key, Layer, Sources

#: where keys are names, so that null leaves one out; * is any name
NAMED: tuple[Key, ...] = (
    ("data",),
    ("data", "*", "at"),
    ("learners",),
    ("learners", "*", "at"),
    ("learners", "*", "grid"),
    ("learners", "*", "titles"),
    ("tables",),
    ("tables", "*", "data"),
    ("tables", "*", "outputs"),
    ("tables", "*", "labels"),
    ("labels",),
    ("choices",),
    ("data", "*", "seeds"),
    ("selected",),
    ("selected", "*"),
    ("selected", "*", "*"),
)


def check_nulls(sources: Sources) -> None:
    """Refuse null for a name that no earlier file has: it would leave nothing out.

    Raises KerhrmError, in one line with the nearest name.
    """
    numbers = range(len(sources.layers))
    first = sources.preset_at or 0  # of the files that change others
    for number in numbers[first:]:
        earlier = Sources(sources.layers[:number])
        for key in _nulls(sources.layers[number]):
            *above, name = key
            if not _holds_names(tuple(above)):
                continue
            names = earlier.names(*above)
            if name not in names:
                problem = "there is none to leave out"
                hint = "delete the line"
                if names:
                    hint = nearest(str(name), names)
                raise sources.error(key, problem, hint)


def _nulls(layer: Layer) -> Iterator[Key]:
    """Keys that a file sets to null."""
    _, place, content = layer
    file = Sources([layer])
    for leaf in leaves(content):
        key = (*place, *leaf)
        _, _, value = file.find(key)
        if value is None:
            yield key


def _holds_names(key: Key) -> bool:
    """Whether the keys below a key are names."""
    return any(_matches(key, pattern) for pattern in NAMED)


def _matches(key: Key, pattern: Key) -> bool:
    """Whether a key is one of those that a pattern stands for."""
    if len(key) != len(pattern):
        return False
    pairs = zip(key, pattern, strict=True)
    return all(wanted in ("*", part) for part, wanted in pairs)
