"""Every method, declared once: what `run:` may name, its options, its rows, how it is trained.

Nothing heavy is imported: options and code stand as ``"module:name"``.  Another method is its
folder, one entry here and, where it departs from its defaults, a file in ``config/methods``.
Other packages add theirs by an entry point in the group ``kerhrm.methods`` that loads to a
:class:`~kerhrm.methods.declared.Method` (docs/extending.md).
"""

from collections.abc import Mapping
from typing import Any

from kerhrm.entries import added, check, load
from kerhrm.errors import KerhrmError
from kerhrm.methods.declared import NONE as NONE
from kerhrm.methods.declared import ORACLE as ORACLE
from kerhrm.methods.declared import POOLED as POOLED
from kerhrm.methods.declared import TRACKS as TRACKS
from kerhrm.methods.declared import WORST_LEARNED as WORST_LEARNED
from kerhrm.methods.declared import WORST_VALIDATION as WORST_VALIDATION
from kerhrm.methods.declared import Method as Method
from kerhrm.methods.declared import Reads as Reads
from kerhrm.methods.declared import Row as Row
from kerhrm.methods.declared import Track as Track
from kerhrm.sections import Section


def _baseline(
    name: str, title: str, rule: str, options: str, reads: Reads = "points", **more: Any
) -> Method:
    """A method with a folder of its own in ``kerhrm.methods``."""
    row = Row(name, title, "reference" if title.startswith("ref: ") else "described", rule)
    room = f"kerhrm.methods.{name}"
    options = options if ":" in options else f"{room}.options:{options}"
    return Method(name, (row,), reads, f"{room}.train:train_{name}", options, **more)


_KERHRM = "kerhrm.algorithm.options:KerHRM"
_IN_ONE = "kerhrm.methods.kerhrm.train:train_kerhrm"
_CHOICES = "kerhrm.methods.kerhrm.options"
_STEPS = tuple(
    Row(stem, title, "described", WORST_LEARNED)
    for stem, title in (("kerhrm-s", "KerHRM-s"), ("kerhrm-ntf", "KerHRM (NTF)"))
)
_NETWORK = Row("kerhrm-network", "KerHRM (network)", "described", WORST_LEARNED)
_RELEASED = Row("released", "KerHRM (released)", "released", "as released")


def _in_one(name: str, titles: tuple[str, str], rule: str, **more: Any) -> Method:
    """Algorithm 1 in one job: rows of the network and of the NTF predictor."""
    chosen = not more.pop("others", False)
    stems = zip((name, f"{name}-ntf"), titles, strict=True)
    rows = tuple(
        Row(stem, title, "described", rule, chosen, stem.endswith("-ntf")) for stem, title in stems
    )
    return Method(name, rows, "whole", _IN_ONE, **more)


#: Values on trial, eight combinations or, of KerHRM, as many that are drawn.  Weak penalties are
#: among them, which every rule on the training distribution may prefer.
_STEPS_OF_ADAM = [100, 200]
_ERM = {"learning_rate": [3e-4, 1e-3, 3e-3, 1e-2], "steps": _STEPS_OF_ADAM}
_BUILT_IN = (
    _baseline("erm", "ERM", POOLED, "ERM", path="steps", grid=_ERM),
    _baseline("dro", "DRO", POOLED, "DRO", path="steps",
              grid={"rho": [0.1, 0.5, 2.0, 8.0], "steps": _STEPS_OF_ADAM}),
    _baseline("eiil", "EIIL", POOLED, "EIIL", path="reference_steps", infers=True,
              grid={"loss": ["squared", "logistic"], "reference_steps": [20, 50, 200, 500]}),
    _baseline("hrm", "HRM", POOLED, "HRM", infers=True,
              grid={"gate_goal": ["few", "all"], "penalty": [10.0, 1e2, 1e3, 1e4]}),
    _baseline("irm", "IRM", WORST_VALIDATION, "IRM", labels=True, path="steps",
              grid={"weight": [1.0, 1e2, 1e4, 1e6], "steps": _STEPS_OF_ADAM}),
    Method("kerhrm", _STEPS, "kerhrm", "kerhrm.algorithm.loop:fit", _KERHRM),
    Method("igd", (_NETWORK,), "kerhrm", "kerhrm.algorithm.network:train_networks", _KERHRM,
           section="kerhrm", needs="kerhrm"),
    _in_one("kerhrm_grid", ("KerHRM (network)", "KerHRM (NTF)"), WORST_LEARNED, others=True,
            options=_KERHRM, choice=f"{_CHOICES}:Choice", infers=True,
            grid={"k": [10, 15, 20, 25], "alpha": [0.0, 1.0, 10.0, 100.0],
                  "penalty": [10.0, 1e2, 1e3, 1e4]}),
    _in_one("per_seed", ("KerHRM (per seed)", "KerHRM (per seed, NTF)"), WORST_LEARNED,
            options=_KERHRM),
    _in_one("literal", ("KerHRM (literal)", "KerHRM (literal, NTF)"), POOLED,
            options=f"{_CHOICES}:Literal"),
    Method("released", (_RELEASED,), "features", "kerhrm.released.train:train_released",
           "kerhrm.released.options:Released", needs="kerhrm"),
    _baseline("iga", "ref: inter-gradient alignment (labels)", WORST_VALIDATION, "IGA", labels=True,
              path="steps", grid={"loss": ["squared", "logistic"],
                               "penalty": [1.0, 10.0, 100.0, 1e3]}),
    _baseline("true_environments", "ref: KerHRM with true environments", WORST_VALIDATION, _KERHRM,
              "features", choice=f"{_CHOICES}:Direction", uses=frozenset({"k", "invariance"}),
              labels=True, grid={"k": [15, 25], "alpha": [0.0, 10.0, 100.0, 1e3]}),
    _baseline("grayscale", "ref: perfect invariant model", POOLED,
              "kerhrm.methods.erm.options:ERM", path="steps", grid=_ERM),
    _baseline("least_squares", "ref: least squares", NONE, "LeastSquares"),
)  # fmt: skip
_TITLES = {
    "majority": "majority",
    "bayes-pooled": "Bayes pooled",
    "invariant-ceiling": "invariant ceiling",
    "zero": "predict zero",
    "least-squares-s": "least squares on S",
    "structural-function": "structural function",
    "mean": "predict the mean",
}
#: rows that no training makes
CLOSED_FORMS = tuple(Row(s, f"ref: {title}", "reference", NONE) for s, title in _TITLES.items())


def _of_a_package(name: str, entry: str, so_far: Mapping[str, Method]) -> Method:
    """A method that another package declares."""
    method = load(entry)
    if not isinstance(method, Method):
        raise KerhrmError(f"{entry} is no kerhrm.methods.declared.Method")
    stems = [name, f"{name}-ntf"] if method.reads == "whole" else [name]
    if (method.name, method.section) != (name, name):
        raise KerhrmError(f"{entry} is called '{method.name}', its section '{method.section}'")
    if method.reads == "kerhrm" or [row.stem for row in method.rows] != stems:
        raise KerhrmError(f"the stems of its rows are not {stems}, or it is a step of KerHRM")
    rows = (*CLOSED_FORMS, *(row for other in so_far.values() for row in other.rows))
    if taken := {row.title for row in rows} & {row.title for row in method.rows}:
        raise KerhrmError(f"another row is called '{min(taken)}'")
    for options in filter(None, (method.options, method.choice)):
        if not issubclass(load(options), Section):
            raise KerhrmError(f"{options} is no kerhrm.sections.Section")
    check(method.entry)
    return method


#: by name
METHODS: dict[str, Method] = added(
    "kerhrm.methods", {method.name: method for method in _BUILT_IN}, _of_a_package
)
_ALL = (*CLOSED_FORMS, *(row for method in METHODS.values() for row in method.rows))
#: by stem; the NTF predictors stand below what Algorithm 1 gives, its network, and what nothing was
#: chosen for comes last
ROWS: dict[str, Row] = {
    row.stem: row
    for row in sorted(_ALL, key=lambda row: (row.rule == NONE, row.stem.endswith("-ntf")))
}
_BY_TITLE = {row.title: row for row in ROWS.values() if row.chosen}


def tunable() -> list[str]:
    """Names of the methods that `tune` searches."""
    return [name for name, method in METHODS.items() if method.grid]


def row_titled(title: str) -> Row:
    """A table's row; a :class:`KerhrmError` if none has that title."""
    if title not in _BY_TITLE:
        raise KerhrmError(f"no method is called '{title}'", f"known are: {', '.join(_BY_TITLE)}")
    return _BY_TITLE[title]


def position(title: str) -> tuple[int, int]:
    """Sort key of a row."""
    return TRACKS.index(row_titled(title).track), list(_BY_TITLE).index(title)


def is_headline(title: str, selection: str) -> bool:
    """Whether a row was chosen by the method's own rule."""
    return selection == row_titled(title).rule
