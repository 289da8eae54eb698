"""Every method, declared once: what `run:` may name, its options, its rows, how it is trained.

Nothing heavy is imported: options and code stand as ``"module:name"``.  Another method is its
folder, one entry here and, where it departs from its defaults, a file in ``config/methods``.
Other packages add theirs by an entry point in the group ``kerhrm.methods`` that loads to a
:class:`Method`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Literal

from kerhrm.errors import KerhrmError

Track = Literal["described", "released", "reference"]
Reads = Literal["points", "features", "whole", "kerhrm"]
#: the order of the rows in tables and figures; within a track, that of ROWS
TRACKS: tuple[Track, ...] = ("described", "reference", "released")

POOLED = "pooled validation"
WORST_VALIDATION = "worst validation environment"
WORST_LEARNED = "worst learned environment"
ORACLE = "oracle"  #: picks on test data: a bound, and never a result
NONE = "none"  #: nothing is chosen: a closed form


@dataclass(frozen=True)
class Row:
    """A row of a table: of the papers' methods, of the released code, or a yardstick."""

    stem: str  #: name of its file of predictions; closed forms, which leave none, have one too
    title: str  #: as printed; a reference row's begins with "ref: "
    track: Track
    rule: str  #: selection rule of the method's own row


@dataclass(frozen=True)
class Method:
    """What `run:` may name."""

    name: str  #: also that of its rule's wildcard
    #: but for KerHRM's steps a single one, with the method's name as stem; of "whole" methods a
    #: second one, NAME-ntf
    rows: tuple[Row, ...]
    #: what :mod:`kerhrm.methods.points`, :mod:`kerhrm.methods.features` or
    #: :mod:`kerhrm.methods.whole` give its entry point; "kerhrm": a step of KerHRM with rules of
    #: its own
    reads: Reads
    entry: str  #: "module:function"
    options: str  #: "module:Class" of its section in ``methods:``
    section: str = ""  #: name of that section, its own unless it shares another one's
    uses: frozenset[str] | None = None  #: fields of that section; None: all
    labels: bool = False  #: whether it is given the true environments of the training points
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)  #: what `tune` tries, combined
    needs: str = ""  #: method that has to run, too

    def __post_init__(self) -> None:
        object.__setattr__(self, "section", self.section or self.name)

    @property
    def rule(self) -> str:
        """Selection rule of its own rows."""
        return self.rows[0].rule

    @property
    def entries(self) -> list[str]:
        """What its job loads by name."""
        return [self.entry] + [f"kerhrm.methods.{self.reads}:prepare"] * (self.reads != "kerhrm")


def _baseline(
    name: str, title: str, rule: str, options: str, reads: Reads = "points", **more: Any
) -> Method:
    """A method with a folder of its own in ``kerhrm.methods``."""
    row = Row(name, title, "reference" if title.startswith("ref: ") else "described", rule)
    room = f"kerhrm.methods.{name}"
    options = options if ":" in options else f"{room}.options:{options}"
    return Method(name, (row,), reads, f"{room}.train:train_{name}", options, **more)


_KERHRM = "kerhrm.algorithm.options:KerHRM"
_STEPS = tuple(
    Row(stem, title, "described", WORST_LEARNED)
    for stem, title in (("kerhrm-s", "KerHRM-s"), ("kerhrm-ntf", "KerHRM (NTF)"))
)
_NETWORK = Row("kerhrm-network", "KerHRM (network)", "described", WORST_LEARNED)
_LITERAL = (
    Row("literal", "KerHRM (literal)", "described", POOLED),
    Row("literal-ntf", "KerHRM (literal, NTF)", "described", POOLED),
)
_RELEASED = Row("released", "KerHRM (released)", "released", "as released")
_BUILT_IN = (
    _baseline("erm", "ERM", POOLED, "ERM"),
    _baseline("dro", "DRO", POOLED, "DRO", grid={"rho": [0.1, 0.5, 1.0], "steps": [100, 200]}),
    _baseline("eiil", "EIIL", POOLED, "EIIL",
              grid={"loss": ["squared", "logistic"], "weight": [1e3, 1e4]}),
    _baseline("hrm", "HRM", POOLED, "HRM",
              grid={"penalty": [1e3, 1e4], "gate_cost": [0.01, 0.1]}),
    # weights below 1e3 turn it into ERM, which every rule on the training distribution prefers
    _baseline("irm", "IRM", WORST_VALIDATION, "IRM", labels=True,
              grid={"weight": [1e3, 1e4], "anneal": [20, 50]}),
    Method("kerhrm", _STEPS, "kerhrm", "kerhrm.algorithm.loop:fit", _KERHRM),
    Method("igd", (_NETWORK,), "kerhrm", "kerhrm.algorithm.network:train_networks", _KERHRM,
           section="kerhrm", needs="kerhrm"),
    Method("literal", _LITERAL, "whole", "kerhrm.methods.literal.train:train_literal",
           "kerhrm.methods.literal.options:Literal", needs="kerhrm"),
    Method("released", (_RELEASED,), "features", "kerhrm.released.train:train_released",
           "kerhrm.released.options:Released", needs="kerhrm"),
    _baseline("iga", "ref: inter-gradient alignment (labels)", WORST_VALIDATION, "IGA", labels=True,
              grid={"loss": ["squared", "logistic"], "penalty": [10.0, 100.0]}),
    _baseline("true_environments", "ref: KerHRM with true environments", WORST_VALIDATION, _KERHRM,
              "features", section="kerhrm", uses=frozenset({"k", "invariance"}), labels=True,
              needs="kerhrm"),
    _baseline("grayscale", "ref: perfect invariant model", POOLED,
              "kerhrm.methods.erm.options:ERM", section="erm"),
    _baseline("least_squares", "ref: least squares", NONE, "LeastSquares"),
)  # fmt: skip
_ADDED = (entry.load() for entry in entry_points(group="kerhrm.methods"))
#: by name
METHODS: dict[str, Method] = {method.name: method for method in (*_BUILT_IN, *_ADDED)}
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
_ALL = (*CLOSED_FORMS, *(row for method in METHODS.values() for row in method.rows))
#: by stem; what nothing was chosen for comes last
ROWS: dict[str, Row] = {row.stem: row for row in sorted(_ALL, key=lambda row: row.rule == NONE)}
_BY_TITLE = {row.title: row for row in ROWS.values()}


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
