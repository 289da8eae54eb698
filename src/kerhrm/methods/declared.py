"""What declares a method: its options, its rows, how it is trained.

:mod:`kerhrm.methods.registry` has all of them.  Other packages declare theirs by what stands here,
which imports neither the registry nor anything heavy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

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
    #: the option, if any, whose smaller values are met on the way of one training to a larger one
    path: str = ""
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
