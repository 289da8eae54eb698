"""Settings of tables in words, as figures name them."""

import re
import textwrap
from collections.abc import Iterable

#: options with their value
OPTIONS = {
    "H=I": "not scrambled (H = I)",
    "H per seed": "mixing matrix per seed",
    "alpha=0": "no variance penalty",
    "weights=by_size": "weighted by size",
    "T=1": "first iteration alone",
    "n_init=1": "one initialisation",
    "degenerate=yes": "label copies kept",
    "split=true": "true environments",
    "split=errors": "split by least squares' errors",
    "split=random": "split at random",
    "options=public": "authors' options",
    "evaluate_every=none": "not stopped early",
    "clip=train": "inputs clipped to the training range",
    "pretest=no": "pre-test off",
    "clustering_target=label": "clusters explain the label",
    "intercept_start=layer": "intercepts start at random",
    "penalty=scale_gradients": "classification script's penalty",
    "penalty=theta_gradients": "regression script's penalty",
    "environments=one": "one environment",
    "roles=swapped": "roles swapped",
    "colour=random": "random colours",
    "cmnist": "Colored MNIST",
}
#: options with any value, which stands in the braces
VALUES = {
    "K": "{} clusters",
    "T": "{} iterations",
    "k": "{} dimensions",
    "n": "trained on {} rows",
    "options": "options of {} images",
    "steps": "{} steps",
    "max_reassignments": "at most {} reassignments",
    "penalty_weight": "penalty weight {}",
    "first_weight": "first weight {}",
    "weight_decay": "weight decay {}",
    "scenario": "scenario {}",
    "period": "built {}",
    "built": "trained on houses before {}",
    "units": "{} hidden units",
    "reference": "{} reference steps",
}
REFERENCES = {"ref: majority": "a constant"}  #: rows with another name in figures
NO_BREAK = "\N{NO-BREAK SPACE}"
SIZE = re.compile(r"(\d+)x(\d+)")  #: of images


def setting_in_words(setting: str) -> str:
    """A setting without configuration keys, where their words are known.

    Examples
    --------
    >>> setting_in_words("scenario=1,r=1.5")
    'scenario 1, r = 1.5'
    >>> setting_in_words("14x14,options=public")
    "14×14 pixels, authors' options"
    """
    words = [_option(option) for option in setting.split(",")]
    return ", ".join(words)


def differences(settings: Iterable[str]) -> dict[str, str]:
    """What distinguishes each setting, in words: options of all settings are left out.

    Examples
    --------
    >>> differences(["14x14", "14x14,reference=50"])
    {'14x14': '', '14x14,reference=50': '50 reference steps'}
    """
    options = {setting: setting.split(",") for setting in settings}
    every_set = map(set, options.values())
    shared = set.intersection(*every_set)
    differing = {}
    for setting, own in options.items():
        words = [_option(option) for option in own if option not in shared]
        differing[setting] = ", ".join(words)
    return differing


def in_lines(words: str, width: int) -> str:
    """Words in lines of so many characters, broken behind commas where that is
    possible.

    Examples
    --------
    >>> print(in_lines("one initialisation, label copies kept", 22))
    one initialisation,
    label copies kept
    """
    parts = words.split(", ")
    whole = [_whole(part) if len(part) < width else part for part in parts]
    lines = textwrap.fill(", ".join(whole), width)
    return lines.replace(NO_BREAK, " ")


def _whole(part: str) -> str:
    return part.replace(" ", NO_BREAK)


def _option(option: str) -> str:
    if option in OPTIONS:
        return OPTIONS[option]
    if SIZE.fullmatch(option):
        return SIZE.sub("\\1\N{MULTIPLICATION SIGN}\\2 pixels", option)
    name, equals, value = option.partition("=")
    if not equals:
        return option
    value = value.removesuffix(".0")
    form = VALUES.get(name)
    return form.format(value) if form else f"{name} = {value}"


def method_name(method: str) -> str:
    """A method in a row of a figure, where references stand below the others."""
    if method in REFERENCES:
        return REFERENCES[method]
    return method.removeprefix("ref: ")
