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
    chosen: bool = True  #: whether its file holds that row; else other rules' choices alone
    closed_form: bool = False  #: of few coefficients, which gain little by having seen points


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
    options: str  #: "module:Class" of what its entry point is told
    section: str = ""  #: name of its section in ``methods:``, its own unless it shares another's
    #: "module:Class" of what is chosen, if these are not the options themselves: its ``of`` lays a
    #: choice over the section ``kerhrm``
    choice: str = ""
    uses: frozenset[str] | None = None  #: fields of the options; None: all
    labels: bool = False  #: whether it is given the true environments of the training points
    infers: bool = False  #: whether a rule may choose by the environments that it infers
    #: whether option sets that differ in ``steps`` alone are met on the way of one training
    path: bool = False
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)  #: where option sets come from
    needs: str = ""  #: method that has to run, too

    def __post_init__(self) -> None:
        object.__setattr__(self, "section", self.section or self.name)

    @property
    def rule(self) -> str:
        """Selection rule of its own rows."""
        return self.rows[0].rule

    @property
    def rules(self) -> list[str]:
        """Selection rules that can choose its option set without test data, its own first."""
        others = {POOLED: True, WORST_VALIDATION: self.labels, WORST_LEARNED: self.infers}
        return list(dict.fromkeys([self.rule, *(rule for rule, can in others.items() if can)]))

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
    _baseline("erm", "ERM", POOLED, "ERM", path=True, grid=_ERM),
    _baseline("dro", "DRO", POOLED, "DRO", path=True,
              grid={"rho": [0.1, 0.5, 2.0, 8.0], "steps": _STEPS_OF_ADAM}),
    _baseline("eiil", "EIIL", POOLED, "EIIL", path=True, infers=True,
              grid={"loss": ["squared", "logistic"], "reference_steps": [20, 50, 200, 500]}),
    _baseline("hrm", "HRM", POOLED, "HRM", infers=True,
              grid={"gate_goal": ["few", "all"], "penalty": [10.0, 1e2, 1e3, 1e4]}),
    _baseline("irm", "IRM", WORST_VALIDATION, "IRM", labels=True, path=True,
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
              path=True, grid={"loss": ["squared", "logistic"],
                               "penalty": [1.0, 10.0, 100.0, 1e3]}),
    _baseline("true_environments", "ref: KerHRM with true environments", WORST_VALIDATION, _KERHRM,
              "features", choice=f"{_CHOICES}:Direction", uses=frozenset({"k", "invariance"}),
              labels=True, grid={"k": [15, 25], "alpha": [0.0, 10.0, 100.0, 1e3]}),
    _baseline("grayscale", "ref: perfect invariant model", POOLED,
              "kerhrm.methods.erm.options:ERM", path=True, grid=_ERM),
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
