"""Every method, declared once.

Its options, how it is trained, and what the configuration asks.

Another method is a file here, its options in :mod:`kerhrm.methods.options`, and a line
below.  Other packages add theirs by an entry point in the group ``kerhrm.methods`` that
loads to a :class:`~kerhrm.methods.base.Method` of the same name.
"""

from collections.abc import Mapping
from typing import Any, get_args

from kerhrm.algorithm.options import AuxiliaryOptions, KerHRMOptions
from kerhrm.entries import Lazy, check_by_name, check_names, check_takes
from kerhrm.errors import KerhrmError, shown
from kerhrm.methods.base import (
    AS_RELEASED,
    NONE,
    POOLED,
    WORST_INFERRED,
    WORST_TRUE,
    Method,
)
from kerhrm.methods.options import (
    AsPrintedOptions,
    ClosedFormOptions,
    DROOptions,
    EIILOptions,
    ERMOptions,
    GivenSplitOptions,
    GroupDROOptions,
    HRMOptions,
    IGAOptions,
    IRMOptions,
    JTTOptions,
    LeastSquaresOptions,
    ReleasedOptions,
    RidgeOptions,
    TrueEnvironmentsOptions,
    ZINOptions,
)
from kerhrm.methods.peer_options import (
    AFROptions,
    BalancingOptions,
    EDNILOptions,
    EVaLSOptions,
    XRMOptions,
)
from kerhrm.options import Task, check_declared
from kerhrm.plugins import Registry

_FEATURES: dict[str, Any] = {
    "needs_features": True,
    "infers": True,
    "iterates": True,
    "outputs": ("network", "linear", "first"),
}
_BUILT_IN = (
    Method("erm", ERMOptions, Lazy("kerhrm.methods.erm:train_erm")),
    Method("dro", DROOptions, Lazy("kerhrm.methods.dro:train_dro")),
    Method(
        "eiil",
        EIILOptions,
        Lazy("kerhrm.methods.eiil:train_eiil"),
        WORST_INFERRED,
        infers=True,
    ),
    Method(
        "jtt",
        JTTOptions,
        Lazy("kerhrm.methods.jtt:train_jtt"),
        WORST_INFERRED,
        infers=True,
        tasks=("classification",),
    ),
    Method(
        "jtt_closed_form",
        ClosedFormOptions,
        Lazy("kerhrm.methods.jtt:train_closed_form"),
        NONE,
        tasks=("classification",),
    ),
    Method(
        "balancing",
        BalancingOptions,
        Lazy("kerhrm.methods.balancing:train_balancing"),
        WORST_INFERRED,
        infers=True,
        tasks=("classification",),
    ),
    Method(
        "afr",
        AFROptions,
        Lazy("kerhrm.methods.afr:train_afr"),
        WORST_INFERRED,
        infers=True,
        tasks=("classification",),
    ),
    Method(
        "xrm",
        XRMOptions,
        Lazy("kerhrm.methods.xrm:train_xrm"),
        WORST_INFERRED,
        infers=True,
        tasks=("classification",),
    ),
    Method(
        "evals",
        EVaLSOptions,
        Lazy("kerhrm.methods.evals:train_evals"),
        WORST_INFERRED,
        infers=True,
        tasks=("classification",),
    ),
    Method(
        "ednil",
        EDNILOptions,
        Lazy("kerhrm.methods.ednil:train_ednil"),
        WORST_INFERRED,
        infers=True,
        tasks=("classification",),
    ),
    Method(
        "zin",
        ZINOptions,
        Lazy("kerhrm.methods.zin:train_zin"),
        WORST_INFERRED,
        infers=True,
    ),
    Method(
        "hrm",
        HRMOptions,
        Lazy("kerhrm.methods.hrm:train_hrm"),
        WORST_INFERRED,
        infers=True,
    ),
    Method(
        "irm",
        IRMOptions,
        Lazy("kerhrm.methods.irm:train_irm"),
        WORST_TRUE,
        needs_environments=True,
    ),
    Method(
        "iga",
        IGAOptions,
        Lazy("kerhrm.methods.iga:train_iga"),
        WORST_TRUE,
        needs_environments=True,
    ),
    Method(
        "group_dro",
        GroupDROOptions,
        Lazy("kerhrm.methods.group_dro:train_group_dro"),
        WORST_TRUE,
        needs_environments=True,
    ),
    Method(
        "kerhrm",
        KerHRMOptions,
        Lazy("kerhrm.methods.kerhrm:train_kerhrm"),
        WORST_INFERRED,
        **_FEATURES,
    ),
    Method(
        "kerhrm_auxiliary",
        AuxiliaryOptions,
        Lazy("kerhrm.methods.auxiliary:train_auxiliary"),
        WORST_INFERRED,
        ("network", "linear"),
        needs_features=True,
        infers=True,
        switches={"network": "training"},
    ),
    Method(
        "kerhrm_as_printed",
        AsPrintedOptions,
        Lazy("kerhrm.methods.kerhrm:train_kerhrm"),
        **_FEATURES,
    ),
    Method(
        "kerhrm_authors_code",
        ReleasedOptions,
        Lazy("kerhrm.methods.released:train_released"),
        AS_RELEASED,
        needs_features=True,
        iterates=True,
    ),
    Method(
        "true_environments",
        TrueEnvironmentsOptions,
        Lazy("kerhrm.methods.references:train_true_environments"),
        WORST_TRUE,
        needs_environments=True,
        needs_features=True,
    ),
    Method(
        "kerhrm_given_split",
        GivenSplitOptions,
        Lazy("kerhrm.methods.references:train_given_split"),
        WORST_INFERRED,
        **_FEATURES,
        needs_environments=True,
        tasks=("classification",),
    ),
    Method("ridge", RidgeOptions, Lazy("kerhrm.methods.ridge:train_ridge")),
    Method("grayscale", ERMOptions, Lazy("kerhrm.methods.references:train_grayscale")),
    Method(
        "least_squares",
        LeastSquaresOptions,
        Lazy("kerhrm.methods.references:train_least_squares"),
        NONE,
    ),
)


#: selection criteria, and what a method must declare to have one
CRITERIA = {
    POOLED: None,
    WORST_TRUE: "needs_environments",
    WORST_INFERRED: "infers",
    AS_RELEASED: None,
    NONE: None,
}
FLAGS = ("needs_environments", "needs_features", "infers", "iterates")


def check_method(name: str, method: Any) -> None:
    """Refuse what is no method of its name, or declares what no job could use."""
    if not isinstance(method, Method) or method.name != name:
        hint = "let its package's entry point load to a Method of that name"
        raise KerhrmError(f"it is not a Method called {name}", hint)
    if not isinstance(method.name, str):
        problem = f"its name must be text; got {shown(method.name)}"
        raise KerhrmError(problem, 'write Method("name", MyOptions, train)')
    check_declared(method.options)
    check_by_name(method.train, "train")
    check_takes(method.train, "train", ["inputs", "options"])
    check_names("outputs", method.outputs, example="model")
    tasks = get_args(Task)
    check_names("tasks", method.tasks, example=tasks[0])
    if set(method.tasks) - set(tasks):
        problem = f"tasks must be of {', '.join(tasks)}; got {shown(method.tasks)}"
        raise KerhrmError(problem, "correct it")
    for key in FLAGS:
        flag = getattr(method, key)
        if not isinstance(flag, bool):
            problem = f"{key} must be True or False; got {shown(flag)}"
            raise KerhrmError(problem, "correct it")
    _check_criterion(method)
    _check_switches(method)


def _check_criterion(method: Method) -> None:
    """Refuse a criterion that does not exist, or that the method cannot have."""
    criterion: Any = method.criterion
    if criterion not in list(CRITERIA):
        choices = ", ".join(CRITERIA)
        problem = f"criterion must be of {choices}"
        hint = "import one from kerhrm.methods.base"
        raise KerhrmError(f"{problem}; got {shown(criterion)}", hint)
    flag = CRITERIA[criterion]
    if flag and not getattr(method, flag):
        problem = f"criterion '{criterion}' needs {flag}=True"
        raise KerhrmError(problem, f"declare {flag}=True, or criterion=POOLED")


def _check_switches(method: Method) -> None:
    """Refuse switches that are no outputs with options of the method."""
    switches: Any = method.switches
    if not isinstance(switches, Mapping):
        problem = f"switches must be a mapping; got {shown(switches)}"
        raise KerhrmError(problem, "write switches={OUTPUT: OPTION}")
    for output, option in switches.items():
        if output not in method.outputs:
            problem = f"switches has {shown(output)}, which is no output"
            raise KerhrmError(problem, f"outputs are {', '.join(method.outputs)}")
        if option not in list(method.options.model_fields):
            problem = f"switches has {shown(option)} for the output {output}"
            problem += f", which is no option of {method.options.__name__}"
            raise KerhrmError(problem, "name an option that may be None")


#: by name
METHODS: Registry[Method] = Registry(
    "kerhrm.methods", {method.name: method for method in _BUILT_IN}, check_method
)
