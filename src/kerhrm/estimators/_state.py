"""State of an estimator as pickle, joblib and skops keep it: arrays and lists.

skops builds no tensors and no tables of pandas, and a tensor of a GPU could not be read
without one.
"""

import copy
import dataclasses
from collections import OrderedDict
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor


@dataclasses.dataclass(frozen=True)
class StoredTensor:
    """A tensor, whose ``array`` may be that of a module's parameter."""

    array: np.ndarray
    parameter: bool


@dataclasses.dataclass(frozen=True)
class StoredTable:
    """A table of numbers, with the names of its rows and columns."""

    values: np.ndarray
    index: list[str]
    columns: list[str]


def stored(state: dict[str, Any]) -> dict[str, Any]:
    """State with arrays in place of tensors and tables."""
    return _changed(state, _stored, {})


def restored(state: dict[str, Any]) -> dict[str, Any]:
    """State with tensors, on the CPU, and tables again."""
    return _changed(state, _restored, {})


def _stored(value: Any) -> Any:
    if isinstance(value, Tensor):
        array = value.detach().cpu().numpy()
        parameter = isinstance(value, torch.nn.Parameter)
        return StoredTensor(array, parameter)
    if isinstance(value, pd.DataFrame):
        index = list(value.index)
        columns = list(value.columns)
        return StoredTable(value.to_numpy(), index, columns)
    if isinstance(value, MappingProxyType):  # which pickle refuses
        return dict(value)
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, StoredTable):
        return pd.DataFrame(value.values, value.index, value.columns)
    if not isinstance(value, StoredTensor):
        return value
    array = value.array
    if not array.flags.writeable:
        array = array.copy()
    tensor = torch.from_numpy(np.asarray(array))
    if value.parameter:
        return torch.nn.Parameter(tensor)
    return tensor


def _changed(value: Any, change: Callable[[Any], Any], memo: dict[int, Any]) -> Any:
    """Copy of what holds tensors, in which these are changed; a tensor that stands in
    several places is changed once."""
    key = id(value)
    if key not in memo:
        memo[key] = _copied(value, change, memo)
    return memo[key]


def _copied(value: Any, change: Callable[[Any], Any], memo: dict[int, Any]) -> Any:
    kind = type(value)
    changed = change(value)
    if changed is not value:
        return changed
    if kind in (dict, OrderedDict):
        pairs = ((key, _changed(v, change, memo)) for key, v in value.items())
        return kind(pairs)
    if kind in (list, tuple):
        items = (_changed(v, change, memo) for v in value)
        return kind(items)
    if dataclasses.is_dataclass(kind) or isinstance(value, torch.nn.Module):
        twin = copy.copy(value)
        attributes = vars(value)
        fields = {key: _changed(v, change, memo) for key, v in attributes.items()}
        vars(twin).update(fields)
        return twin
    return value
