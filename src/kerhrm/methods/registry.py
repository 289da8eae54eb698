"""Every method, declared once.

Its options, how it is trained, and what the configuration asks.

Another method is a file here and a line below.  Other packages add theirs by an entry
point in the group ``kerhrm.methods`` that loads to a
:class:`~kerhrm.methods.inputs.Method` of the same name.
"""

from typing import Any, get_args

from kerhrm.algorithm.auxiliary import AuxiliaryOptions
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.errors import KerhrmError, shown
from kerhrm.methods.auxiliary import train_auxiliary
from kerhrm.methods.dro import DROOptions, train_dro
from kerhrm.methods.eiil import EIILOptions, train_eiil
from kerhrm.methods.erm import ERMOptions, train_erm
from kerhrm.methods.group_dro import GroupDROOptions, train_group_dro
from kerhrm.methods.hrm import HRMOptions, train_hrm
from kerhrm.methods.iga import IGAOptions, train_iga
from kerhrm.methods.inputs import (
    AS_RELEASED,
    NONE,
    POOLED,
    WORST_INFERRED,
    WORST_TRUE,
    Method,
)
from kerhrm.methods.irm import IRMOptions, train_irm
from kerhrm.methods.jtt import (
    ClosedFormOptions,
    JTTOptions,
    train_closed_form,
    train_jtt,
)
from kerhrm.methods.kerhrm import AsPrintedOptions, train_kerhrm
from kerhrm.methods.references import (
    GivenSplitOptions,
    LeastSquaresOptions,
    TrueEnvironmentsOptions,
    train_given_split,
    train_grayscale,
    train_least_squares,
    train_true_environments,
)
from kerhrm.methods.released import ReleasedOptions, train_released
from kerhrm.methods.ridge import RidgeOptions, train_ridge
from kerhrm.methods.zin import ZINOptions, train_zin
from kerhrm.options import Task, check_declared
from kerhrm.plugins import Registry, check_by_name

_FEATURES: dict[str, Any] = {
    "needs_features": True,
    "infers": True,
    "outputs": ("network", "linear", "first"),
}
_BUILT_IN = (
    Method("erm", ERMOptions, train_erm),
    Method("dro", DROOptions, train_dro),
    Method("eiil", EIILOptions, train_eiil, WORST_INFERRED, infers=True),
    Method(
        "jtt",
        JTTOptions,
        train_jtt,
        WORST_INFERRED,
        infers=True,
        tasks=("classification",),
    ),
    Method(
        "jtt_closed_form",
        ClosedFormOptions,
        train_closed_form,
        NONE,
        tasks=("classification",),
    ),
    Method("zin", ZINOptions, train_zin, WORST_INFERRED, infers=True),
    Method("hrm", HRMOptions, train_hrm, WORST_INFERRED, infers=True),
    Method("irm", IRMOptions, train_irm, WORST_TRUE, needs_environments=True),
    Method("iga", IGAOptions, train_iga, WORST_TRUE, needs_environments=True),
    Method(
        "group_dro",
        GroupDROOptions,
        train_group_dro,
        WORST_TRUE,
        needs_environments=True,
    ),
    Method("kerhrm", KerHRMOptions, train_kerhrm, WORST_INFERRED, **_FEATURES),
    Method(
        "kerhrm_auxiliary",
        AuxiliaryOptions,
        train_auxiliary,
        WORST_INFERRED,
        ("network", "linear"),
        needs_features=True,
        infers=True,
    ),
    Method("kerhrm_as_printed", AsPrintedOptions, train_kerhrm, **_FEATURES),
    Method(
        "kerhrm_authors_code",
        ReleasedOptions,
        train_released,
        AS_RELEASED,
        needs_features=True,
    ),
    Method(
        "true_environments",
        TrueEnvironmentsOptions,
        train_true_environments,
        WORST_TRUE,
        needs_environments=True,
        needs_features=True,
    ),
    Method(
        "kerhrm_given_split",
        GivenSplitOptions,
        train_given_split,
        WORST_INFERRED,
        **_FEATURES,
        needs_environments=True,
        tasks=("classification",),
    ),
    Method("ridge", RidgeOptions, train_ridge),
    Method("grayscale", ERMOptions, train_grayscale),
    Method("least_squares", LeastSquaresOptions, train_least_squares, NONE),
)


#: selection criteria, and what a method must declare to have one
CRITERIA = {
    POOLED: None,
    WORST_TRUE: "needs_environments",
    WORST_INFERRED: "infers",
    AS_RELEASED: None,
    NONE: None,
}
FLAGS = ("needs_environments", "needs_features", "infers")


def _check(name: str, method: Any) -> None:
    """Refuse what is no method of its name, or declares what no job could use."""
    if not isinstance(method, Method) or method.name != name:
        hint = "let its package's entry point load to a Method of that name"
        raise KerhrmError(f"it is not a Method called {name}", hint)
    check_declared(method.options)
    check_by_name(method.train, "train")
    for key, known in (("outputs", ()), ("tasks", get_args(Task))):
        value = getattr(method, key)
        texts = isinstance(value, tuple) and all(isinstance(one, str) for one in value)
        if not texts or not value or "" in value or len({*value}) < len(value):
            problem = f"{key} must be a tuple of different names; got {shown(value)}"
            example = known[0] if known else "model"
            raise KerhrmError(problem, f"write {key}=('{example}',)")
        if known and not {*value} <= {*known}:
            problem = f"{key} must be of {', '.join(known)}; got {shown(value)}"
            raise KerhrmError(problem, "correct it")
    for key in FLAGS:
        if not isinstance(value := getattr(method, key), bool):
            problem = f"{key} must be True or False; got {shown(value)}"
            raise KerhrmError(problem, "correct it")
    if method.criterion not in [*CRITERIA]:
        problem = f"criterion must be of {', '.join(CRITERIA)}"
        hint = "import one from kerhrm.methods.inputs"
        raise KerhrmError(f"{problem}; got {shown(method.criterion)}", hint)
    if (flag := CRITERIA[method.criterion]) and not getattr(method, flag):
        problem = f"criterion '{method.criterion}' needs {flag}=True"
        raise KerhrmError(problem, f"declare {flag}=True, or criterion=POOLED")


#: by name
METHODS: Registry[Method] = Registry(
    "kerhrm.methods", {method.name: method for method in _BUILT_IN}, _check
)
