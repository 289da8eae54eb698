"""The rows of the tables: methods, reference rows, and who chose their hyper-parameters."""

from dataclasses import dataclass
from typing import Literal

from kerhrm.errors import KerhrmError

Track = Literal["described", "released", "reference"]

POOLED = "pooled validation"
WORST_VALIDATION = "worst validation environment"
WORST_LEARNED = "worst learned environment"
#: picks on test data: a bound, and never a result
ORACLE = "oracle"
#: nothing is chosen: a closed form
NONE = "none"


@dataclass(frozen=True)
class Method:
    """A row of a table.

    Attributes
    ----------
    name : str
        As printed; a reference row's begins with ``"ref: "``.
    track : str
        ``described``: the paper's methods as the papers describe them; ``released``: the
        procedure of the released code; ``reference``: a yardstick, no method of the paper's.
    rule : str
        The selection rule of the method's own row.
    """

    name: str
    track: Track
    rule: str


#: by the stem of the prediction file; closed forms, which leave none, by a stem all the same
METHODS: dict[str, Method] = {
    "erm": Method("ERM", "described", POOLED),
    "dro": Method("DRO", "described", POOLED),
    "eiil": Method("EIIL", "described", POOLED),
    "hrm": Method("HRM", "described", POOLED),
    "irm": Method("IRM", "described", WORST_VALIDATION),
    "kerhrm-s": Method("KerHRM-s", "described", WORST_LEARNED),
    "kerhrm-ntf": Method("KerHRM (NTF)", "described", WORST_LEARNED),
    "kerhrm-network": Method("KerHRM (network)", "described", WORST_LEARNED),
    "released": Method("KerHRM (released)", "released", "as released"),
    "iga": Method("ref: inter-gradient alignment (labels)", "reference", WORST_VALIDATION),
    "kerhrm-true": Method("ref: KerHRM with true environments", "reference", WORST_VALIDATION),
    "grayscale": Method("ref: perfect invariant model", "reference", POOLED),
    "majority": Method("ref: majority", "reference", NONE),
    "bayes-pooled": Method("ref: Bayes pooled", "reference", NONE),
    "invariant-ceiling": Method("ref: invariant ceiling", "reference", NONE),
    "zero": Method("ref: predict zero", "reference", NONE),
    "least-squares-s": Method("ref: least squares on S", "reference", NONE),
    "structural-function": Method("ref: structural function", "reference", NONE),
    "mean": Method("ref: predict the mean", "reference", NONE),
    "least_squares": Method("ref: least squares", "reference", NONE),
}
#: the order of the rows in tables and figures; within a track, that of METHODS
TRACKS: tuple[Track, ...] = ("described", "reference", "released")
_BY_NAME = {method.name: method for method in METHODS.values()}


def method_named(name: str) -> Method:
    """Give the method of a table's row.

    Raises
    ------
    KerhrmError
        If no method has that name.
    """
    if name not in _BY_NAME:
        raise KerhrmError(f"no method is called '{name}'", f"known are: {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def position(name: str) -> tuple[int, int]:
    """Sort key of a method's row."""
    method = method_named(name)
    return TRACKS.index(method.track), list(_BY_NAME).index(name)


def is_headline(method: str, selection: str) -> bool:
    """Whether a row was chosen by the method's own rule."""
    return selection == method_named(method).rule
