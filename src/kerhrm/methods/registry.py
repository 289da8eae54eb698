"""Every method, declared once.

Its options, how it is trained, and what the configuration asks.

Another method is a file here and a line below.  Other packages add theirs by an entry
point in the group ``kerhrm.methods`` that loads to a
:class:`~kerhrm.methods.inputs.Method` of the same name.
"""

from typing import Any

from kerhrm.algorithm.auxiliary import AuxiliaryOptions
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.errors import KerhrmError
from kerhrm.methods.auxiliary import train_auxiliary
from kerhrm.methods.dro import DROOptions, train_dro
from kerhrm.methods.eiil import EIILOptions, train_eiil
from kerhrm.methods.erm import ERMOptions, train_erm
from kerhrm.methods.group_dro import GroupDROOptions, train_group_dro
from kerhrm.methods.hrm import HRMOptions, train_hrm
from kerhrm.methods.iga import IGAOptions, train_iga
from kerhrm.methods.inputs import AS_RELEASED, NONE, WORST_INFERRED, WORST_TRUE, Method
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
from kerhrm.plugins import Registry

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


def _check(name: str, method: Any) -> None:
    """Refuse what is no method of its name."""
    if not isinstance(method, Method) or method.name != name:
        hint = "let its package's entry point load to a Method of that name"
        raise KerhrmError(f"it is not a Method called {name}", hint)


#: by name
METHODS: Registry[Method] = Registry(
    "kerhrm.methods", {method.name: method for method in _BUILT_IN}, _check
)
