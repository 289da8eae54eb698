"""Fitted estimators as one ``.npz`` file: arrays and JSON, never a pickle.

Networks are written by their architecture, as the library does: hidden widths, or the name
``"package.module:function"`` of what makes the module, which has to be importable to load it.
"""

import dataclasses
import numbers
import os
from typing import Any

import numpy as np
import torch

from kerhrm.algorithm.options import KerHRM
from kerhrm.errors import KerhrmError
from kerhrm.estimators.memberships import Centres, Memberships
from kerhrm.estimators.predictors import (
    LinearPredictor,
    NTFPredictor,
    Predictor,
    TrainedNetwork,
    entry_of,
)
from kerhrm.estimators.tables import Units
from kerhrm.estimators.tangents import Tangents
from kerhrm.estimators.verdicts import HeterogeneityReport
from kerhrm.networks.build import from_tensors
from kerhrm.networks.protocol import Network
from kerhrm.sections import Section
from kerhrm.storage.arrays import load_arrays, save_arrays

Arrays = dict[str, np.ndarray]
Facts = dict[str, Any]
FORMAT = 1
ARRAYS = ("theta_", "singular_values_", "environments_", "environment_proba_")
FACTS = ("selected_", "history_", "converged_", "n_iter_", "predictor_", "seed_", "_logistic")


def write_fit(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator; errors as :meth:`TableEstimator.save`."""
    units: Units = estimator._units
    arrays: Arrays = {"units.centre": units.centre, "units.scale": units.scale}
    facts: Facts = {
        "format": FORMAT,
        "class": type(estimator).__name__,
        "parameters": _parameters(estimator),
        "units": [units.level, units.spread],
        "columns": [str(name) for name in getattr(estimator, "feature_names_in_", ())],
    }
    if units.classes is not None:
        facts["classes_are_objects"] = units.classes.dtype.hasobject
        arrays["units.classes"] = np.array(units.classes.tolist())
    arrays |= {name: getattr(estimator, name) for name in ARRAYS if hasattr(estimator, name)}
    facts |= {name: getattr(estimator, name) for name in FACTS if hasattr(estimator, name)}
    if hasattr(estimator, "heterogeneity_"):
        facts["heterogeneity"] = dataclasses.asdict(estimator.heterogeneity_)
    facts["predictor"] = _pack_predictor(estimator._predictor, arrays)
    if (memberships := getattr(estimator, "_memberships", None)) is not None:
        facts["memberships"] = _pack_memberships(memberships, arrays)
    save_arrays(path, arrays, facts)


def read_fit(path: str | os.PathLike[str], kind: type) -> Any:
    """Read a fitted estimator of one class; errors as :meth:`TableEstimator.load`."""
    arrays, facts = load_arrays(path)
    name = facts.get("class")
    if name != kind.__name__ or facts.get("format") != FORMAT:
        problem = f"{path} holds no {kind.__name__} of this version"
        cure = f"use {name}.load" if name else "give a file that an estimator's save has written"
        raise KerhrmError(problem, cure)
    estimator = kind(**{n: _decoded(v) for n, v in facts["parameters"].items()})
    labels = arrays.get("units.classes")
    if labels is not None and facts["classes_are_objects"]:
        labels = labels.astype(object)
    level, spread = facts["units"]
    units = Units(arrays["units.centre"], arrays["units.scale"], level, spread, labels)
    estimator._units, estimator.n_features_in_ = units, len(units.centre)
    if labels is not None:
        estimator.classes_ = labels
    if facts["columns"]:
        estimator.feature_names_in_ = np.array(facts["columns"], dtype=object)
    for attribute in ARRAYS:
        if attribute in arrays:
            setattr(estimator, attribute, arrays[attribute])
    for attribute in FACTS:
        if attribute in facts:
            setattr(estimator, attribute, facts[attribute])
    if told := facts.get("heterogeneity"):
        estimator.heterogeneity_ = HeterogeneityReport(**told | {"null": tuple(told["null"])})
    estimator._predictor = _unpack_predictor(arrays, facts["predictor"])
    if "memberships" in facts:
        estimator._memberships = _unpack_memberships(arrays, facts["memberships"])
    return estimator


def _parameters(estimator: Any) -> Facts:
    """The constructor's, as JSON; a generator of random numbers as the seed that came of it."""
    parameters = estimator.get_params(deep=False)
    if not isinstance(parameters["random_state"], numbers.Integral | None):
        parameters["random_state"] = estimator.seed_
    network = parameters["network"]
    if callable(network):
        parameters["network"] = entry_of(network)
    entry = parameters["network"]
    if isinstance(entry, str) and entry.startswith("__main__:"):
        problem = f"the network '{entry}' is defined in the main script, where no file finds it"
        raise KerhrmError(problem, "move it to a module of its own and import it from there")
    return {name: _encoded(name, value) for name, value in parameters.items()}


def _encoded(name: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return {"tuple": [_encoded(name, one) for one in value]}
    if isinstance(value, list):
        return [_encoded(name, one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Section):
        return {"options": value.model_dump()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    problem = f"{name}={value!r} has no place in a file without pickle"
    raise KerhrmError(problem, "give numbers, text, lists or kerhrm.KerHRM options")


def _decoded(value: Any) -> Any:
    if isinstance(value, dict) and "options" in value:
        return KerHRM(**value["options"])
    if isinstance(value, dict):
        return tuple(_decoded(one) for one in value["tuple"])
    return [_decoded(one) for one in value] if isinstance(value, list) else value


def _pack_network(network: Network, prefix: str, arrays: Arrays) -> Facts:
    for i, parameter in enumerate(network.parameters()):
        arrays[f"{prefix}.parameter_{i}"] = parameter.detach().cpu().numpy()
    return network.facts


def _unpack_network(arrays: Arrays, facts: Facts, prefix: str) -> Network:
    return from_tensors(_below(arrays, prefix), facts)


def _below(arrays: Arrays, prefix: str) -> dict[str, torch.Tensor]:
    """The tensors whose names begin with a prefix and a dot, without these."""
    start = f"{prefix}."
    named = {n.removeprefix(start): a for n, a in arrays.items() if n.startswith(start)}
    return {name: torch.from_numpy(array) for name, array in named.items()}


def _pack_tangents(tangents: Tangents, prefix: str, arrays: Arrays) -> Facts:
    for i, direction in enumerate(tangents.directions):
        arrays[f"{prefix}.direction_{i}"] = direction.cpu().numpy()
    return _pack_network(tangents.network, prefix, arrays)


def _unpack_tangents(arrays: Arrays, facts: Facts, prefix: str) -> Tangents:
    tensors = _below(arrays, prefix)
    network = from_tensors(tensors, facts)
    count = range(len(network.parameters()))
    return Tangents(network, [tensors[f"direction_{i}"] for i in count])


def _pack_predictor(predictor: Predictor, arrays: Arrays) -> Facts:
    if isinstance(predictor, NTFPredictor):
        return {"ntf": _pack_tangents(predictor.tangents, "predictor", arrays)}
    if isinstance(predictor, TrainedNetwork):
        return {"network": _pack_network(predictor.network, "predictor", arrays)}
    assert isinstance(predictor, LinearPredictor)
    arrays["predictor.slope"] = predictor.slope.cpu().numpy()
    return {"linear": float(predictor.level)}


def _unpack_predictor(arrays: Arrays, facts: Facts) -> Predictor:
    if "ntf" in facts:
        return NTFPredictor(_unpack_tangents(arrays, facts["ntf"], "predictor"))
    if "network" in facts:
        return TrainedNetwork(_unpack_network(arrays, facts["network"], "predictor"))
    level = torch.tensor(facts["linear"], dtype=torch.float64)
    return LinearPredictor(_below(arrays, "predictor")["slope"], level)


def _pack_memberships(memberships: Memberships, arrays: Arrays) -> Facts:
    facts = {"network": _pack_tangents(memberships.tangents, "memberships", arrays)}
    for field in dataclasses.fields(Centres):
        value = getattr(memberships.centres, field.name)
        if isinstance(value, torch.Tensor):
            arrays[f"memberships.{field.name}"] = value.cpu().numpy()
        else:
            facts[field.name] = value
    return facts


def _unpack_memberships(arrays: Arrays, facts: Facts) -> Memberships:
    tensors = _below(arrays, "memberships")
    values: Facts = {
        f.name: tensors.get(f.name, facts.get(f.name)) for f in dataclasses.fields(Centres)
    }
    tangents = _unpack_tangents(arrays, facts["network"], "memberships")
    return Memberships(tangents, Centres(**values))
